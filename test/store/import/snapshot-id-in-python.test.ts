/** An independent program that follows docs/data.md gives the same snapshot ids (test/programs/snapshot_id.py). */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { sampleRegister } from '../../support/sample/register.ts'
import { buildFile } from '../../../store/import/build.ts'
import { dirtyRegister } from '../../support/dirty-register.ts'
import { REGISTER } from '../../support/fixtures.ts'
import { runPython, skipWithoutPython } from '../../support/python.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

const PROGRAM = fileURLToPath(new URL(import.meta.resolve('#root/test/programs/snapshot_id.py')))
const ROWS = 2_000
const SEEDS = [1, 2, 3]

describe('[11.3, 11.5] the snapshot id in Python', () => {
  let directory: string

  before(async function () {
    await skipWithoutPython(this)
    directory = await makeTemporaryDirectory()
  })

  const build = (path: string) => buildFile({ dataDirectory: directory, path, importedAt: new Date().toISOString() })

  async function expectSameId(path: string) {
    const info = await build(path)
    const { code, stdout, stderr } = await runPython([PROGRAM, path])
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' })
    expect(stdout.trim()).to.equal(info.snapshot_id)
    return info
  }

  async function fileOf(content: string | Buffer): Promise<string> {
    const path = join(directory, 'register.csv')
    await writeFile(path, content)
    return path
  }

  it('is equal for the register of the tests', () => expectSameId(REGISTER))

  it('is equal for the made-up sample', async () => {
    await expectSameId(await fileOf([...sampleRegister({ rows: 1_000, seed: 1 })].join('')))
  })

  for (const seed of SEEDS) {
    it(`is equal for a register with every kind of bad value, made with the seed ${seed}`, async () => {
      const info = await expectSameId(await fileOf(dirtyRegister(seed, ROWS)))
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
  }
})
