/** The CSV of a list: format, encodings, rows, and cells that run no formula. */
import { readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { findFormat, readCsv, writeCsv } from '../../../../agent/buyer/lists/csv-file.ts'
import { toSafeCell } from '../../../../agent/buyer/lists/safe-cell.ts'
import { makeTemporaryDirectory } from '../../../support/temporary-directory.ts'

describe('the CSV of a list', () => {
  let directory: string
  let path: string
  before(async () => {
    directory = await makeTemporaryDirectory()
    path = join(directory, 'list.csv')
  })
  const readAll = async (content: string | Buffer, separator?: string) => {
    await writeFile(path, content)
    const format = await findFormat(path, separator)
    const rows: string[][] = []
    for await (const row of readCsv(path, format)) rows.push(row)
    return { format, rows }
  }

  for (const [name, text, separator] of [
    ['a comma', 'a,b\n1,2\n', ','],
    ['a semicolon, although names have commas', 'a;b\n"Smith, Jones";x\nJones, Smith;y\n', ';'],
    ['a tabulator', 'a\tb\n1\t2\n', '\t'],
    ['a bar', 'a|b\r\n1|2\r\n', '|'],
    ['no separator, although names have commas', 'name\nSmith, Jones\nSmith, Jones, Doe\n', ';'],
    ['quoted separators', '"a;b;c",d\n"1;2;3",4\n', ','],
  ] as const)
    it(`finds ${name}`, async () => {
      const { format, rows } = await readAll(text)
      expect(format.separator).to.equal(separator)
      expect(new Set(rows.map(({ length }) => length)).size).to.equal(1)
    })

  it('reads what it has written, for any fields, separators and line ends', async () => {
    const field = fc.string({ unit: fc.constantFrom(...Array.from('ab ,;|\t"\'\r\n=é€\u{1F600}')), maxLength: 6 })
    const table = fc
      .integer({ min: 2, max: 4 })
      .chain((width) =>
        fc.array(fc.array(field, { minLength: width, maxLength: width }), { minLength: 1, maxLength: 5 }),
      )
    const formats = fc.record({
      separator: fc.constantFrom(',', ';', '\t', '|', '~', '::'),
      lineEnd: fc.constantFrom('\n' as const, '\r\n' as const),
      encoding: fc.constant('utf-8' as const),
      hasByteOrderMark: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(table, formats, async (rows, format) => {
        async function* all() {
          yield* rows
        }
        await writeCsv(path, all(), { ...format, addedFrom: 1 })
        const read: string[][] = []
        for await (const row of readCsv(path, format)) read.push(row)
        expect(read).to.deep.equal(rows)
      }),
      { numRuns: 200 },
    )
  })

  it('reads every byte of Windows-1252 as the standard decoder does, and UTF-8 that is split between reads', async () => {
    const bytes = Buffer.from(Array.from({ length: 0xff - 0x7f }, (_, index) => index + 0x80))
    const { format, rows } = await readAll(Buffer.concat([Buffer.from('a,'), bytes, Buffer.from('\n')]))
    expect(format.encoding).to.equal('windows-1252')
    expect(rows[0]?.[1]?.slice(0x82 - 0x80, 0x8d - 0x80)).to.equal('‚ƒ„…†‡ˆ‰Š‹Œ')
    expect(rows[0]?.[1]?.slice(0x91 - 0x80, 0xa0 - 0x80)).to.equal('‘’“”•–—˜™š›œ\u009džŸ')
    expect(rows[0]?.[1]?.slice(0xa0 - 0x80)).to.equal(bytes.subarray(0x20).toString('latin1'))
    const long = `a,b\n${'é,€\n'.repeat(40_000)}`
    const split = await readAll(`x${long}`)
    expect(split.format.encoding).to.equal('utf-8')
    expect(split.rows.slice(1).every(([one, other]) => one === 'é' && other === '€')).to.equal(true)
  })

  it('keeps empty lines, short rows, spaces and quotes inside of fields', async () => {
    const { rows } = await readAll('a,b\n\n 5" pipe ,x\nc\n')
    expect(rows).to.deep.equal([['a', 'b'], [''], [' 5" pipe ', 'x'], ['c']])
  })

  it('refuses a quote that is not closed, in bounded memory', async () => {
    await writeFile(path, `a,b\n"${'x,y\n'.repeat(600_000)}`)
    const format = await findFormat(path, ',')
    const read = async () => {
      for await (const row of readCsv(path, format)) void row
    }
    let message = ''
    await read().catch((cause: Error) => (message = cause.message))
    expect(message).to.match(/is not valid CSV in line \d+$/)
  })

  it('writes Windows-1252 as UTF-8 with a byte order mark', async () => {
    const { format } = await readAll(Buffer.from('na\xefve,b\n', 'latin1'))
    async function* rows() {
      yield ['naïve', 'Ł']
    }
    await writeCsv(path, rows(), { ...format, addedFrom: 9 })
    expect(await readFile(path, 'utf8')).to.equal('\uFEFFnaïve,Ł\n')
  })

  it('makes every text that a spreadsheet would run a plain text', () => {
    for (const text of ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', ' =1', '＝1', '＠A'])
      expect(toSafeCell(text)).to.equal(`'${text}`)
    for (const text of ['', 'A = B', '3-D LIMITED', "'=1"]) expect(toSafeCell(text)).to.equal(text)
  })

  it('starts no formula under another separator, and quotes added texts', async () => {
    for (const separator of [',', ';', '\t', '|'])
      expect(toSafeCell(`A${separator} "=1+1${separator}X`)).to.equal(`A${separator} "'=1+1${separator}X`)
    const { format } = await readAll(Buffer.from('a,b\n'))
    async function* rows() {
      yield ['own text', 'ADDED NAME', '700005', '']
    }
    await writeCsv(path, rows(), { ...format, addedFrom: 1 })
    expect(await readFile(path, 'utf8')).to.equal('own text,"ADDED NAME",700005,\n')
  })

  it('replaces a link instead of writing through it', async () => {
    const { format } = await readAll(Buffer.from('a,b\n'))
    const target = `${path}.target`
    const link = `${path}.link`
    await writeFile(target, 'kept')
    await symlink(target, link)
    async function* rows() {
      yield ['a']
    }
    await writeCsv(link, rows(), { ...format, addedFrom: 1 })
    expect([await readFile(target, 'utf8'), await readFile(link, 'utf8')]).to.deep.equal(['kept', 'a\n'])
  })
})
