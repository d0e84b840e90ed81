/** Tests of the output of the command `import`. */
import { expect } from 'chai'
import type { ImportProgress } from '../../../store/import/build.ts'
import { importCommand } from '../../../store/import/command.ts'
import { printSnapshotInfo } from '../../../store/import/report.ts'
import { REGISTER } from '../../support/fixtures.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

describe('the output of an import', () => {
  it('lists the counts with their findings in a fixed order', () => {
    const lines: string[] = []
    const findings = { eircode_malformed: 3, rejected_no_company_name: 1, date_malformed: 4, row_contradicting: 2 }
    printSnapshotInfo(
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

  it('says whether the archive has changed and ends with the time and the peak memory', async () => {
    const dataDirectory = await makeTemporaryDirectory()
    const lines: string[] = []
    const progress: ImportProgress[] = []
    let clock = Date.parse('2026-01-01T00:00:00Z')
    const command = () =>
      importCommand({
        dataDirectory,
        path: REGISTER,
        synthetic: true,
        isForced: false,
        now: () => new Date((clock += 1_500)),
        peakMemoryBytes: () => 150.4 * 2 ** 20,
        print: (line) => void lines.push(line),
        onProgress: (done) => void progress.push(done),
      })
    await command()
    expect(lines[0]).to.equal('imported')
    expect(lines.at(-2)).to.match(/^seconds {5}[0-9]+\.[05]$/)
    // The larger peak of this process and of the child process that builds.
    expect(Number(/^memory {6}([0-9]+) MiB at most$/.exec(lines.at(-1) ?? '')?.[1])).to.be.at.least(150)
    expect(progress).to.deep.include({ phase: 'rows', rows: 30, share: 1 })
    lines.length = 0
    await command()
    expect(lines[0]).to.equal('unchanged since the last import')
  })
})
