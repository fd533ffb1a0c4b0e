import unittest

from bill import total


class Total(unittest.TestCase):
    def test_without_a_tip(self):
        self.assertEqual(total([1000, 250]), 1250)

    def test_cents_are_whole(self):
        self.assertEqual(repr(total([999], tip=10)), "1099")

    def test_half_a_cent_goes_up(self):
        self.assertEqual(total([1050], tip=5), 1103)
