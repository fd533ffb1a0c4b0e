import unittest

from calc import evaluate


class Evaluate(unittest.TestCase):
    def test_products_before_sums(self):
        self.assertEqual(evaluate("2 + 3 * 4"), 14)

    def test_brackets(self):
        self.assertEqual(evaluate("(2 + 3) * 4"), 20)

    def test_from_left_to_right(self):
        self.assertEqual(evaluate("10 - 4 - 3"), 3)
        self.assertEqual(evaluate("100 / 10 / 5"), 2)
