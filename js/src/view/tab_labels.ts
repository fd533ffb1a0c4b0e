/** What the tabs are called, in the order of their keys. */
import type { Tab } from "../model/model";

export const TAB_LABELS: Record<Tab, string> = {
  timeline: "Timeline",
  changes: "Changes",
  breakpoints: "Breakpoints",
  runs: "Runs",
  overview: "Overview",
  forks: "Forks",
};
export const TABS = Object.keys(TAB_LABELS) as Tab[];
