/** Tests of the output of the command `import`. */
import { expect } from 'chai'
import { importCommand } from '../../../store/import/command.ts'
import { REGISTER } from '../../support/fixtures.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

describe('the output of an import', () => {
  it('says whether the archive has changed, lists the counts, and ends with the time and the peak memory', async () => {
    const dataDirectory = await makeTemporaryDirectory()
    const lines: string[] = []
    const progress: unknown[] = []
    let clock = Date.parse('2026-01-01T00:00:00Z')
    const command = () =>
      importCommand({
        dataDirectory,
        path: REGISTER,
        synthetic: true,
        isForced: false,
        areChangesAccepted: false,
        now: () => new Date((clock += 1_500)),
        peakMemoryBytes: () => 150.4 * 2 ** 20,
        print: (line) => void lines.push(line),
        onProgress: (done) => void progress.push(done),
      })
    await command()
    expect(lines.slice(0, -4)).to.deep.equal([
      'imported',
      'rows        30',
      'companies   27',
      'quarantined 1',
      'rejected    0',
      '  row_contradicting 1',
      '  row_repeated 1',
      'values      3 changed',
      '  date_malformed 1',
      '  date_sentinel 1',
      '  eircode_malformed 1',
    ])
    expect(lines.at(-4)).to.match(/^snapshot {4}sha256:[0-9a-f]{64}$/)
    expect(lines.at(-2)).to.match(/^seconds {5}[0-9]+\.[05]$/)
    // The larger peak of this process and of the child process that builds.
    expect(Number(/^memory {6}([0-9]+) MiB at most$/.exec(lines.at(-1) ?? '')?.[1])).to.be.at.least(150)
    expect(progress).to.deep.include({ phase: 'rows', rows: 30, share: 1 })
    lines.length = 0
    await command()
    expect(lines[0]).to.equal('unchanged since the last import')
  })
})
