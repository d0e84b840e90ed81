/** The runs of `npm run proof`: each program with its arguments. CI runs shorter ones (`.ci/run`). */

/** The arguments, and the condition for the verdict "met". */
export type ProofSection = readonly [name: string, options: string, target: string]

/**
 * In the order of the summary. The name is that of the program. The
 * reason for the size is above each line.
 */
export const PROOF_SECTIONS: readonly ProofSection[] = [
  // Its sizes are in perf.ts.
  ['perf', '--size full', 'every row below meets its target'],
  // Fewer than 20,000 questions, so that one wrong match misses the target of one in 20,000.
  ['quality', '--rows 100000 --samples 1000 --peers', 'every accuracy target below is met'],
  // As many as take some minutes. All changes of a record occur in a few hundred seeds.
  ['simulate', '--seeds 15000 --workers 2', 'no broken invariant'],
  // As many as take ten minutes.
  ['crash', '--runs 40', 'one payment, one transfer and the stored answer after every death'],
  // One sale.
  ['order', '', 'every write is synced first'],
  // The shortest time in which the latency is judged.
  ['fairness', '--seconds 6', 'no other client refused, p99 below 2 s'],
  // All bugs.
  ['mutants', '--workers 2', 'every mutant is caught'],
  // As many as take a minute.
  ['leak', '--requests 4000', 'no kind of request leaves memory behind'],
  // As many days as the limit on disk is for. The disk of fewer companies is scaled.
  ['history', '--rows 10000 --days 1000', 'every row below is at most its limit'],
  // As many as an analyst has.
  ['reconcile', '--rows 10000', 'at most 200 MB of memory, and a decision for every row'],
  // As many companies as the register has, because the memory of the import depends on them.
  ['sizing', '--rows 1000000 --sales 3000', 'every size is measured'],
]
