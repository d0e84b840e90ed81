/** Pages of proofs that are not what their programs write. */
import { expect } from 'chai'
import { findStale } from './proof-pages.ts'
import { accuracyTargets } from './quality/tally.ts'
import { describeLimit, PERF_TARGETS } from './targets.ts'

const FACTS = new Map(
  ['perf', 'order', 'quality'].map((name) => [name, { command: `npm run bench -- ${name}`, target: 'all' }]),
)
const line = (row: string, target: string) => `| bench perf --only x | ${row} | us | 1 | - | - | - | ${target} | met |`
const ROWS = Object.values(PERF_TARGETS).map(({ row, limit }) => line(row, limit ? describeLimit(limit) : '-'))
const page = (name: string, rows: readonly string[] = [], { verdict = 'met', target = 'all' } = {}) =>
  `# x\n\n- command: \`npm run bench -- ${name}\`\n- target: ${target}\n- verdict: ${verdict}\n\n${rows.join('\n')}\n`
const SHARES = accuracyTargets([]).map(({ target }) => `| ${target} | 0 % | met |`)

describe('the pages of the proof', () => {
  it('are those of the programs', () => {
    expect(
      findStale(
        new Map([
          ['perf', page('perf', ROWS)],
          ['order', page('order')],
          ['quality', page('quality', SHARES)],
        ]),
        FACTS,
      ),
    ).to.deep.equal([])
  })

  it('are stale with another row, target, command, program or verdict, and without a row or a page', () => {
    const [first = '', ...others] = ROWS
    const changed = [first.replace('at most 0.15', 'at most 9'), line('a former row', '-'), ...others]
    expect(
      findStale(
        new Map([
          ['perf', page('perf', changed, { verdict: 'MISSED', target: 'some' })],
          ['matrix', page('matrix')],
          ['quality', page('order', SHARES.slice(1))],
        ]),
        FACTS,
      ),
    ).to.deep.equal([
      'order.md is missing',
      'matrix.md has no program',
      'quality.md is of another command',
      'perf.md has another target',
      'perf.md: missed',
      'quality.md lacks: wrong matches, the company is in the register <= 0.005 %',
      'perf.md has another row or target: quote, 1 connection, p50: value at most 9',
      'perf.md has another row or target: a former row: -',
      'perf.md lacks a row: quote, 1 connection, p50: value at most 0.15',
    ])
  })
})
