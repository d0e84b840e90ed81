/** An independent program that follows docs/data.md gives the same snapshot ids (test/programs/snapshot_id.py). */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { buildFile } from '../../../store/import/build.ts'
import { dirtyRegister } from '../../support/dirty-register.ts'
import { runPython, skipWithoutPython } from '../../support/python.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

const PROGRAM = fileURLToPath(new URL(import.meta.resolve('#root/test/programs/snapshot_id.py')))
const [SEED, ROWS] = [1, 2_000]

describe('[11.3, 11.5] the snapshot id in Python', () => {
  let directory: string

  before(async function () {
    await skipWithoutPython(this)
    directory = await makeTemporaryDirectory()
  })

  it('is equal for a register with every kind of bad value', async () => {
    const path = join(directory, 'register.csv')
    await writeFile(path, dirtyRegister(SEED, ROWS))
    const info = await buildFile({ dataDirectory: directory, path, importedAt: new Date().toISOString() })
    const { code, stdout, stderr } = await runPython([PROGRAM, path])
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' })
    expect(stdout.trim()).to.equal(info.snapshot_id)
    expect(info.quarantined_company_count).to.be.greaterThan(100)
    for (const finding of [
      'code_malformed',
      'date_malformed',
      'date_sentinel',
      'eircode_malformed',
      'hidden_characters_removed',
      'invalid_utf8_replaced',
      'nace_malformed',
      'rejected_malformed_company_number',
      'rejected_malformed_row',
      'rejected_no_company_name',
      'rejected_no_company_number',
      'rejected_wrong_column_count',
      'row_contradicting',
      'row_repeated',
    ]) {
      expect(info.findings[finding], finding).to.be.greaterThan(0)
    }
  })
})
