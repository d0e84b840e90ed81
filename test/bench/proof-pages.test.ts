/** Pages of proofs that are not what their programs write. */
import { expect } from 'chai'
import { findStale } from './proof-pages.ts'
import { describeLimit, PERF_TARGETS } from './targets.ts'

const NAMES = ['perf', 'order']
const line = (row: string, target: string) => `| bench perf --only x | ${row} | us | 1 | - | - | - | ${target} | met |`
const ROWS = Object.values(PERF_TARGETS).map(({ row, limit }) => line(row, limit ? describeLimit(limit) : '-'))
const page = (rows: readonly string[] = [], verdict = 'met') => `# x\n\n- verdict: ${verdict}\n\n${rows.join('\n')}\n`

describe('the pages of the proof', () => {
  it('are those of the programs', () => {
    expect(
      findStale(
        new Map([
          ['perf', page(ROWS)],
          ['order', page()],
        ]),
        NAMES,
      ),
    ).to.deep.equal([])
  })

  it('are stale with another row, target, program or verdict, and without a row or a page', () => {
    const [first = '', ...others] = ROWS
    const changed = [first.replace('at most 0.15', 'at most 9'), line('a former row', '-'), ...others]
    expect(
      findStale(
        new Map([
          ['perf', page(changed, 'MISSED')],
          ['matrix', page()],
        ]),
        NAMES,
      ),
    ).to.deep.equal([
      'order.md is missing',
      'matrix.md has no program',
      'perf.md: missed',
      'perf.md has another row or target: quote, 1 connection, p50: value at most 9',
      'perf.md has another row or target: a former row: -',
      'perf.md lacks a row: quote, 1 connection, p50: value at most 0.15',
    ])
  })
})
