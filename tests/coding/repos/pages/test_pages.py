import unittest

from pages import page, page_count


class Pages(unittest.TestCase):
    def test_full_pages(self):
        self.assertEqual(page_count(20, 10), 2)

    def test_a_page_that_is_not_full(self):
        self.assertEqual(page_count(21, 10), 3)

    def test_the_last_page(self):
        self.assertEqual(page(list("abcde"), 3, 2), ["e"])
