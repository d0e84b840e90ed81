/** What an import tells whoever watches it, on a clock of the test's. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { importCommand } from '../../../store/import/command.ts'
import { progressLines, printInfo } from '../../../store/import/report.ts'
import { PROCESSES, REGISTER } from '../../support/fixtures.ts'

describe('the progress of an import', () => {
  let seconds: number
  let lineOf: ReturnType<typeof progressLines>
  beforeEach(() => {
    seconds = 1_000
    lineOf = progressLines(() => new Date(seconds * 1000))
  })

  it('is its step and its rows, and after a second its rate and the time that is left', () => {
    expect(lineOf({ phase: 'rows', rows: 0, share: 0 })).to.equal('reading, step 1 of 2: 0 rows')
    seconds += 4
    expect(lineOf({ phase: 'rows', rows: 50_000, share: 0.25 })).to.equal(
      'reading, step 1 of 2: 50000 rows, 12500 rows/s, 12 s left of this step',
    )
    seconds += 12
    expect(lineOf({ phase: 'rows', rows: 200_000, share: 1 })).to.contain(' 0 s left')
  })

  it('counts the second step from its own beginning', () => {
    lineOf({ phase: 'rows', rows: 0, share: 0 })
    seconds += 100
    expect(lineOf({ phase: 'hash', rows: 5_000, share: 0.1 })).to.equal('sealing, step 2 of 2: 5000 rows')
    seconds += 2
    expect(lineOf({ phase: 'hash', rows: 10_000, share: 0.2 })).to.contain('10000 rows, 5000 rows/s, 8 s left')
  })

  it('says no time as long as nothing is done', () => {
    lineOf({ phase: 'rows', rows: 0, share: 0 })
    seconds += 5
    expect(lineOf({ phase: 'rows', rows: 0, share: 0 })).to.equal('reading, step 1 of 2: 0 rows')
  })
})

describe('the counts of an import', () => {
  it('stand under what they are of, in one order', () => {
    const lines: string[] = []
    const findings = { eircode_malformed: 3, rejected_no_company_name: 1, date_malformed: 4, row_contradicting: 2 }
    printInfo(
      {
        snapshot_id: `sha256:${'a'.repeat(64)}`,
        normalisation: 'test',
        imported_at: '2026-01-02T03:04:05.000Z',
        row_count: 10,
        company_count: 6,
        quarantined_company_count: 1,
        rejected_row_count: 1,
        findings,
      },
      (line) => void lines.push(line),
    )
    expect(lines).to.deep.equal([
      'rows        10',
      'companies   6',
      'quarantined 1',
      'rejected    1',
      '  rejected_no_company_name 1',
      '  row_contradicting 2',
      'values      7 changed',
      '  date_malformed 4',
      '  eircode_malformed 3',
      `snapshot    sha256:${'a'.repeat(64)}`,
    ])
  })

  it('end with what the command has taken, and its last progress is wiped away', async () => {
    const dataDirectory = await mkdtemp(join(tmpdir(), 'report-'))
    try {
      const lines: string[] = []
      const progress: string[] = []
      let clock = Date.parse('2026-01-01T00:00:00Z')
      const command = () =>
        importCommand({
          dataDirectory,
          path: REGISTER,
          synthetic: true,
          processes: PROCESSES,
          now: () => new Date((clock += 1_500)),
          peakMemory: () => 150.4 * 2 ** 20,
          print: (line) => void lines.push(line),
          progress: (line) => void progress.push(line),
        })
      await command()
      expect(lines[0]).to.equal('imported')
      expect(lines.at(-2)).to.match(/^seconds {5}[0-9]+\.[05]$/)
      expect(lines.at(-1)).to.equal('memory      150 MiB at most')
      expect(progress[0]).to.match(/^reading, step 1 of 2: 30 rows/)
      expect(progress.at(-1)).to.equal('')
      lines.length = 0
      await command()
      expect(lines[0]).to.equal('unchanged since the last import')
    } finally {
      await rm(dataDirectory, { recursive: true })
    }
  })
})
