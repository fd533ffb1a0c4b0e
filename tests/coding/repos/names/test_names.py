import unittest

from lists import roster
from people import full_name


class Names(unittest.TestCase):
    def test_a_title(self):
        self.assertEqual(full_name("Ada", "Lovelace", ["Countess"]), "Countess Ada Lovelace")

    def test_twice(self):
        self.assertEqual(full_name("Alan", "Turing"), "Alan Turing")
        self.assertEqual(full_name("Grace", "Hopper"), "Grace Hopper")

    def test_by_last_name(self):
        people = [("Alan", "Turing"), ("Grace", "Hopper")]
        self.assertEqual(roster(people), "Grace Hopper\nAlan Turing")
