/**
 * The runs of `bench report`: a programme with its arguments for each size. Those of size full take less than two hours on two
 * idle cores, so that one run can measure one commit.
 */

export type ReportSize = 'full' | 'ci'

export interface ReportSection {
  /** Its heading in docs/benchmarks.md, and its name for `--only`. */
  name: string
  programme: string
  /** The condition for the verdict "met". */
  target: string
  arguments: Record<ReportSize, string>
  /** Whether its output is Markdown and is shown whole. Its last line is always shown as the result. */
  isMarkdown: boolean
}

type SectionOptions = Partial<Pick<ReportSection, 'programme' | 'isMarkdown'>>

/** The programme has the name of the section unless it is given. */
function section(
  name: string,
  target: string,
  [full, ci]: [full: string, ci: string],
  { programme = name, isMarkdown = false }: SectionOptions = {},
): ReportSection {
  return { name, programme, target, arguments: { full, ci }, isMarkdown }
}

/** The same run with each kind of response log. */
function withBothLogs({ name, arguments: { full, ci }, ...rest }: ReportSection): ReportSection[] {
  const inPostgres = { full: `${full} --log postgres`, ci: `${ci} --log postgres` }
  return [
    { ...rest, name, arguments: { full, ci } },
    { ...rest, name: `${name}-postgres`, arguments: inPostgres },
  ]
}

const MARKDOWN = { isMarkdown: true }
const KILL_POSTGRES_ARGUMENTS: [string, string] = ['--log postgres --runs 100 --workers 2', '--log postgres --runs 33']
const QUALITY_ARGUMENTS: [string, string] = ['--rows 100000 --samples 1000 --peers', '--rows 3000 --samples 200']

export const REPORT_SECTIONS: readonly ReportSection[] = [
  section('perf', 'every row below meets its target', ['--size full', '--size ci'], MARKDOWN),
  section('quality', 'every accuracy target below is met', QUALITY_ARGUMENTS, MARKDOWN),
  section(
    'slowest',
    'no query of any class takes more than 25 ms',
    ['--minutes 3 --rows 1000000', '--minutes 0.05 --rows 3000'],
    MARKDOWN,
  ),
  ...withBothLogs(section('simulate', 'no broken invariant', ['--seeds 50000 --workers 2', '--seeds 200 --workers 2'])),
  section('kill', 'every kill ends in one transfer', ['--runs 330 --workers 2', '--runs 33'], MARKDOWN),
  section('kill-postgres', 'every kill ends in one transfer', KILL_POSTGRES_ARGUMENTS, {
    programme: 'kill',
    isMarkdown: true,
  }),
  section('buyer-kill', 'no second signature, no lost answer', ['--runs 330', '--runs 15'], MARKDOWN),
  section('failover', 'no acknowledged record lost, no payment charged twice', ['--runs 33', '--runs 3'], MARKDOWN),
  ...withBothLogs(section('race', 'no fault', ['--seconds 30', '--seconds 4'])),
  section('order', 'every write is synced first', ['', '']),
  section('fairness', 'no honest request refused, p99 below 2 s', ['', '--seconds 2'], MARKDOWN),
  section('mutants', 'every mutant is caught', ['--workers 2', '--workers 2']),
  section('fuzz', 'no fault', ['--runs 50000', '--runs 500']),
  section('import-kill', 'a whole snapshot after every kill', ['--runs 20', '--runs 2']),
  section(
    'history',
    'every row below is at most its limit',
    ['--rows 10000 --days 1000', '--rows 10000 --days 200'],
    MARKDOWN,
  ),
  section('reconcile', 'at most 200 MB of memory, every decision equal to that of a single resolve', [
    '--rows 10000 --names 3000',
    '--rows 300 --names 300',
  ]),
  section('reconcile-kill', 'no second payment, no lost row', ['--runs 500', '--runs 5']),
  section('sizing', 'every size is measured', ['', '--rows 3000 --sales 1000'], MARKDOWN),
  ...withBothLogs(
    section(
      'soak',
      'no sale lost, metrics equal to the load, no heap growth; with pipelining clients p99 below 1 s and below 400 MiB',
      ['--minutes 4', '--minutes 0.2 --rows 3000'],
      MARKDOWN,
    ),
  ),
]
