/** Pages of proofs that are not what their programs write. */
import { expect } from 'chai'
import { findStale, withScores } from './proof-pages.ts'
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
  it('give accuracy.md the shares of the last register, from 500 points on, as the formatter pads them', () => {
    const table =
      '| score of the first candidate | right    |\n| --- | --- |\n| 1000 | 100 % |\n| 450 to 499 | 31.84 % |'
    const run = (name: string) => `- Register: ${name}, 9 companies.\n- Seed 1.\n\n${table}\n\n| target |\n`
    const [begin, end] = ['<!-- figures: written by `npm run proof` -->', '<!-- end of figures -->']
    const quality = `# quality\n\n${run('made up')}\n${run('a published one')}`
    expect(withScores(`a ${begin} ${end} b`, quality).split('\n').slice(1, -1)).to.deep.equal([
      '',
      '| score of the first candidate | right |',
      '| ---------------------------- | ----- |',
      '| 1000                         | 100 % |',
      '',
      '- Register: a published one, 9 companies.',
      '- Seed 1.',
      '',
    ])
  })

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
