/** The report of the benchmarks, which is written one run at a time. */
import { expect } from 'chai'
import { report } from './report.ts'
import { withRun, type ReportedRun } from './report-file.ts'

const NAMES = ['perf', 'kill', 'race']

function run(name: string, change: Partial<ReportedRun> = {}): ReportedRun {
  return {
    name,
    facts: { run: `first ${name}` },
    measured: `${name} | measured`,
    isPassed: true,
    details: '',
    ...change,
  }
}

function write(...runs: ReportedRun[]): string {
  return runs.reduce((text, each) => withRun(text, each, NAMES), '')
}

describe('the report of the benchmarks', () => {
  it('has the sections in the order of their list, whatever the order of the runs', () => {
    const text = write(run('race'), run('perf'), run('kill'))
    expect(text.match(/^## .*/gm)).to.deep.equal(['## perf', '## kill', '## race'])
    expect(text).to.equal(write(run('kill'), run('race'), run('perf')))
  })

  it('keeps the sections that did not run, with their details', () => {
    const kill = run('kill', { details: '# Kills\n\n| when | kills |\n\n## Later' })
    const text = write(run('perf'), kill, run('perf', { facts: { run: 'second' }, isPassed: false }))
    expect(text).to.include('## perf\n\n- run: second\n- measured: perf | measured\n- verdict: MISSED')
    expect(text).to.include(
      '- run: first kill\n- measured: kill | measured\n- verdict: met\n\n### Kills\n\n| when | kills |',
    )
    expect(text).not.to.include('first perf')
  })

  it('lists measurement and verdict of every section once', () => {
    const text = write(
      run('kill', { isPassed: false }),
      run('perf'),
      run('kill', { measured: 'none', isPassed: false }),
    )
    expect(text.match(/^\| \[.*/gm)).to.deep.equal([
      '| [perf](#perf) | perf \\| measured | met     |',
      '| [kill](#kill) | none             | MISSED  |',
    ])
  })

  it('drops a section that is not in the list any more', () => {
    expect(withRun(write(run('race')), run('perf'), ['perf'])).to.equal(write(run('perf')))
  })

  it('refuses a name that is not a section before it runs anything', async () => {
    let message = ''
    await report({ size: 'ci', only: 'order,nothing' }).catch((cause: Error) => (message = cause.message))
    expect(message).to.match(/^--only is a list of perf, /)
  })
})
