/** The shipped register of the sandbox: the bytes that the generator writes, with every kind of bad value. */
import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { parse } from 'csv-parse/sync'
import { COLUMNS } from '../../../store/import/rows.ts'
import { SANDBOX_DAYS, sampleRegister } from '../../support/sample/register.ts'
import { SAMPLE_DAMAGE, SAMPLE_HISTORY, SAMPLE_SHOWCASE } from '../../support/sample/showcase.ts'

const isValid = (record: readonly string[]) =>
  record.length === COLUMNS.length && /^[0-9]{1,20}$/.test(record[0] ?? '') && record[1]?.trim() !== ''

const days = () =>
  Promise.all(SANDBOX_DAYS.map(async ({ file, options }) => ({ text: await readFile(new URL(file), 'utf8'), options })))

const recordsOf = (text: string) => parse(text, { bom: true, relax_column_count: true })

describe('the register of the sandbox', () => {
  it('is what `npm run register` writes', async () => {
    for (const { text, options } of await days()) {
      // A comparison of the texts would print them.
      expect(text === [...sampleRegister(options)].join(''), `${options.daysAgo} days ago`).to.equal(true)
    }
  })

  it('has the columns of the register and the declared damage', async () => {
    for (const { text } of await days()) {
      expect(text.startsWith('\uFEFFcompany_num,company_name,')).to.equal(true)
      const [header, ...records] = recordsOf(text)
      expect(header).to.deep.equal([...COLUMNS])
      const companies = records.filter(isValid)
      expect(records.length - companies.length).to.equal(SAMPLE_DAMAGE.rejectedRows)
      const numbers = [...new Map(companies.map((record) => [record.join(), record[0]])).values()]
      expect(numbers.length - new Set(numbers).size).to.equal(SAMPLE_DAMAGE.quarantinedCompanies)
    }
  })

  it('had another name, one company less and one more on earlier days', async () => {
    const { formerName, added, removed } = SAMPLE_HISTORY
    const shown = (await days()).map(({ text }) => {
      const names = new Map(recordsOf(text).map(([number = '', name = '']) => [number, name]))
      return [
        names.get(SAMPLE_SHOWCASE.live.number) === formerName.name,
        names.has(added.number),
        names.has(removed.number),
      ]
    })
    expect(shown).to.deep.equal([
      [true, false, true],
      [true, false, true],
      [false, false, true],
      [false, true, true],
      [false, true, false],
    ])
  })
})
