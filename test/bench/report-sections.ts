/**
 * The runs of `bench report`: a program with its arguments for each size. All runs of size full together take less than
 * 55 minutes on two idle cores, so that one run measures one commit.
 */

const KILLED = 'every kill ends in one transfer'
const RACED = 'no fault'
const SIMULATED = 'no broken invariant'
const SOAKED =
  'no sale lost, metrics equal to the load, no heap growth; with pipelining clients p99 below 1 s and below 400 MiB'

/** The arguments of each size, and the condition for the verdict "met". */
export type ReportSection = readonly [name: string, full: string, ci: string, target: string]

/**
 * In the order of docs/benchmarks.md. The name is that of the program, with `-postgres` for a run on this log. The
 * reason for the full size is above each line.
 */
export const REPORT_SECTIONS: readonly ReportSection[] = [
  // Its sizes are in perf.ts.
  ['perf', '--size full', '--size ci', 'every row below meets its target'],
  // Fewer than 20,000 questions, so that one wrong match misses the target of one in 20,000.
  [
    'quality',
    '--rows 100000 --samples 1000 --peers',
    '--rows 3000 --samples 200',
    'every accuracy target below is met',
  ],
  // As many companies as the register has. Shorter runs are not judged.
  [
    'slowest',
    '--minutes 1 --rows 1000000',
    '--minutes 0.05 --rows 3000',
    'no query of any class takes more than 25 ms',
  ],
  // As many as take 90 seconds. All changes of a record occur in a few hundred seeds.
  ['simulate', '--seeds 15000 --workers 2', '--seeds 200 --workers 2', SIMULATED],
  ['simulate-postgres', '--log postgres --seeds 9000 --workers 2', '--log postgres --seeds 200 --workers 2', SIMULATED],
  // Every point is reached twice or more.
  ['kill', '--runs 80 --workers 2', '--runs 33', KILLED],
  // Every point is reached.
  ['kill-postgres', '--log postgres --runs 34 --workers 2', '--log postgres --runs 33', KILLED],
  // As many as take a minute. Without a failure, they bound the failure rate at 4 %.
  ['buyer-kill', '--runs 80', '--runs 15', 'no second signature, no lost answer'],
  // Each way to lose the primary three times.
  ['failover', '--runs 9', '--runs 3', 'no acknowledged record lost, no payment charged twice'],
  // About ten kills each.
  ['race', '--seconds 10', '--seconds 4', RACED],
  ['race-postgres', '--log postgres --seconds 10', '--log postgres --seconds 4', RACED],
  // One sale.
  ['order', '', '', 'every write is synced first'],
  // The shortest time in which the latency is judged.
  ['fairness', '--seconds 6', '--seconds 2', 'no other client refused, p99 below 2 s'],
  // All bugs.
  ['mutants', '--workers 2', '--workers 2', 'every mutant is caught'],
  // The heap is warm after half of them.
  ['fuzz', '--runs 50000', '--runs 500', 'no fault'],
  // Each phase of an import a few times.
  ['import-kill', '--runs 20', '--runs 2', 'a whole snapshot after every kill'],
  // As many days as the limit on disk is for. The disk of fewer companies is scaled.
  ['history', '--rows 10000 --days 1000', '--rows 10000 --days 200', 'every row below is at most its limit'],
  // As many as take a minute.
  [
    'reconcile',
    '--rows 3000 --names 1000',
    '--rows 300 --names 300',
    'at most 200 MB of memory, every decision equal to that of a single resolve',
  ],
  // As many as take two minutes.
  ['reconcile-kill', '--runs 30', '--runs 5', 'no second payment, no lost row'],
  ['watch-kill', '--runs 30', '--runs 5', 'no second payment, no lost change'],
  // As many companies as the register has, because the memory of the import depends on them.
  ['sizing', '--rows 1000000 --sales 3000', '--rows 3000 --sales 1000', 'every size is measured'],
  // The shortest time in which memory and latency are judged.
  ['soak', '--minutes 3', '--minutes 0.2 --rows 3000', SOAKED],
  ['soak-postgres', '--log postgres --minutes 3', '--log postgres --minutes 0.2 --rows 3000', SOAKED],
]
