/** The shipped register of the sandbox: the bytes that the generator writes, with every kind of bad value. */
import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { parse } from 'csv-parse/sync'
import { SANDBOX_DAYS, sampleRegister } from '../../support/sample/register.ts'
import { SAMPLE_HISTORY, SAMPLE_SHOWCASE } from '../../support/sample/showcase.ts'

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
