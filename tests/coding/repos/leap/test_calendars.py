import unittest

from calendars import days


class Days(unittest.TestCase):
    def test_each_fourth_year_is_long(self):
        self.assertEqual([days(year) for year in (2023, 2024)], [365, 366])

    def test_a_century_is_not(self):
        self.assertEqual(days(1900), 365)

    def test_but_each_fourth_is(self):
        self.assertEqual(days(2000), 366)
