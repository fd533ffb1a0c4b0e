/** Whatever order pushes and pages come in, what is here is what the Core has. */
import { expect, test } from "vitest";
import { RowWindow } from "../../src/model/row_window";
import type { GetRows, RowsPage, TimelineRow } from "../../src/protocol/types.gen";
import { settled } from "../helpers/peer";
import { aRow } from "../helpers/values";
import { seeded } from "../inspector/random_json";

const STEPS = 120;
/** Of rows that come faster than this only the last are pushed. */
const PUSHED = 30;

interface PendingRequest {
  wanted: GetRows;
  /** What the Core has read, which may be older than what it has pushed since. */
  page: TimelineRow[];
  answer(page: RowsPage): void;
}

class Core {
  readonly rows: TimelineRow[] = [];
  /** The numbers of rows that changed while there was no link. */
  readonly unseen = new Set<number>();
  readonly asked: PendingRequest[] = [];
  readonly window = new RowWindow({
    request: (wanted, take) =>
      new Promise<void>((resolve) => {
        const page = this.read(wanted);
        const answer = (told: RowsPage) => {
          take(told);
          resolve();
        };
        this.asked.push({ wanted, page, answer });
      }),
    onPage: () => {},
    retainedRows: () => [],
    onError: (error) => {
      throw error;
    },
  });

  read({ first = 1, last = 200 }: GetRows): TimelineRow[] {
    return this.rows.slice(first - 1, last);
  }

  /** Rows come; where they are many, only the last are told. */
  grow(by: number): void {
    for (let n = 0; n < by; n += 1) this.rows.push(aRow(this.rows.length + 1, { revision: 1 }));
    this.window.applyRows(this.rows.slice(-Math.min(by, PUSHED)), this.rows.length);
  }

  change(seq: number): TimelineRow[] {
    const row = this.rows[seq - 1];
    if (!row) return [];
    const changed = { ...row, revision: row.revision + 1 };
    this.rows[seq - 1] = changed;
    return [changed];
  }

  push(changed: TimelineRow[]): void {
    this.window.applyRows(changed, this.rows.length);
  }

  /** Answer what was asked first, in whole or in part; as it was read then, or as it is now. */
  async answer(most: number, now: boolean): Promise<void> {
    const one = this.asked.shift();
    if (!one) return;
    const rows = (now ? this.read(one.wanted) : one.page).slice(0, most);
    one.answer({ run: "a", rows, commits: [] });
    await settled();
  }

  /** The link was lost, and what changed meanwhile wasn't told. */
  reopen(changed: number[]): void {
    this.asked.length = 0;
    for (const seq of changed) {
      this.change(seq);
      this.unseen.add(seq);
    }
    for (let n = 0; n < 20; n += 1) this.rows.push(aRow(this.rows.length + 1));
    this.window.show("a", this.rows.slice(-25), this.rows.length);
  }
}

const SEEDS = Array.from({ length: 40 }, (_, at) => at + 1);

test.each(SEEDS)("chance %i", async (seed) => {
  const random = seeded(seed);
  const next = (below: number) => Math.floor(random() * below);
  const core = new Core();
  const { window } = core;
  for (let n = 0; n < 1200; n += 1) core.rows.push(aRow(n + 1));
  window.show("a", core.rows.slice(-150), core.rows.length);
  const see = () => {
    const first = 1 + next(core.rows.length);
    const seqs = Array.from({ length: 40 }, (_, at) => first + at);
    window.setVisible({ seqs: seqs.filter((seq) => seq <= core.rows.length), dense: next(4) > 0 });
  };
  for (let step = 0; step < STEPS; step += 1) {
    const act = next(10);
    if (act < 3) see();
    else if (act < 6) await core.answer(1 + next(150), next(2) === 0);
    else if (act < 7) core.grow(1 + next(90));
    else if (act < 9) core.push(core.change(1 + next(core.rows.length)));
    else if (next(6) === 0) core.reopen([1, 2, 3].map(() => 1 + next(core.rows.length)));
    const wrong = window.rows.value.all.filter((row) => row !== core.rows[row.seq - 1]);
    expect(wrong.filter(({ seq }) => !core.unseen.has(seq))).toEqual([]);
    expect(window.rows.value.length).toBe(core.rows.length);
  }
  // In the end all can be seen.
  for (let first = 1; first <= core.rows.length; first += 30) {
    const seqs = Array.from({ length: 30 }, (_, at) => first + at);
    const mine = seqs.filter((seq) => seq <= core.rows.length);
    window.setVisible({ seqs: mine, dense: true });
    await settled();
    while (core.asked.length > 0) await core.answer(500, true);
    expect(mine.filter((seq) => window.rows.value.at(seq) !== core.rows[seq - 1])).toEqual([]);
  }
});
