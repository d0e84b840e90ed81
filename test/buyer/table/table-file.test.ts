/** The table of a list: formats, encodings, sheets, faults by line, and cells that run no formula. */
import { readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { findColumns } from '../../../buyer/lists/columns.ts'
import { proposeHeader } from '../../../buyer/lists/header.ts'
import { readList, resultHead, type List } from '../../../buyer/lists/list.ts'
import { faultOfTarget, readTable, writeTable } from '../../../buyer/table/table-file.ts'
import { toSafeCell } from '../../../buyer/table/write-table.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

describe('[15.14, 15.16] the table of a list', () => {
  let directory: string
  let path: string
  before(async () => {
    directory = await makeTemporaryDirectory()
    path = join(directory, 'list.csv')
  })
  const read = async (content: string | Buffer) => {
    await writeFile(path, content)
    return readTable(path)
  }
  const faultOf = (content: string | Buffer) =>
    read(content).then(
      () => 'none',
      ({ message }: Error) => message.replace(path, 'FILE'),
    )

  for (const [name, text, separator] of [
    ['a comma', 'a,b\n1,2\n', ','],
    ['a semicolon, although names have commas', 'a;b\n"Smith, Jones";x\nJones, Smith;y\n', ';'],
    ['a tabulator', 'a\tb\n1\t2\n', '\t'],
    ['a bar', 'a|b\r\n1|2\r\n', '|'],
    ['no separator, although names have commas', 'name\nSmith, Jones\nSmith, Jones, Doe\n', ';'],
    ['quoted separators', '"a;b;c",d\n"1;2;3",4\n', ','],
    ['a semicolon below a title with commas', 'Suppliers, Cork, 2026\nname;town\nFoo;\nBar;x\n', ';'],
    ['a semicolon below a title as a sheet writes it', 'Suppliers;;\n;;\nname;town;no\nFoo;;1\n', ';'],
    ['a semicolon that ends rows, but not the header', 'name;town\nFoo;x;\nBar;y;\n', ';'],
    ['a comma, although the last row has more fields', 'item,amount\nFoo,1\nBar,2\nFoo,3\nTotal,,6\n', ','],
    ['the separator of a first line for Excel', 'sep=;\r\na,b;c\r\n1;2\r\n', ';'],
  ] as const)
    it(`finds ${name}`, async () => {
      const { format, rows } = await read(text)
      expect(format.separator).to.equal(separator)
      expect(rows).to.have.length(text.replace('sep=;', '').trim().split('\n').length)
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
      hasByteOrderMark: fc.constant(true),
      kind: fc.constant('csv' as const),
    })
    await fc.assert(
      fc.asyncProperty(table, formats, async (rows, format) => {
        await writeTable(path, rows, { format, addedFrom: 9 })
        expect((await readTable(path, { separator: format.separator })).rows).to.deep.equal(rows)
      }),
      { numRuns: 200 },
    )
  })

  it('reads every byte of Windows-1252 as the standard decoder does, and UTF-8', async () => {
    const bytes = Buffer.from(Array.from({ length: 0xff - 0x7f }, (_, index) => index + 0x80))
    await writeFile(path, Buffer.concat([Buffer.from('a,'), bytes, Buffer.from('\n')]))
    const { format, rows } = await readTable(path, { encoding: 'windows-1252' })
    const [[, cell = ''] = []] = rows as string[][]
    expect(format.hasByteOrderMark).to.equal(true)
    expect(cell.slice(0x82 - 0x80, 0x8d - 0x80)).to.equal('‚ƒ„…†‡ˆ‰Š‹Œ')
    expect(cell.slice(0x91 - 0x80, 0xa0 - 0x80)).to.equal('‘’“”•–—˜™š›œ\u009džŸ')
    expect(cell.slice(0xa0 - 0x80)).to.equal(bytes.subarray(0x20).toString('latin1'))
    expect((await read('é,€\n')).rows).to.deep.equal([['é', '€']])
  })

  it('keeps empty lines, short rows, spaces and quotes inside of fields', async () => {
    const { rows } = await read('a,b\n\n 5" pipe ,x\nc\n')
    expect(rows).to.deep.equal([['a', 'b'], [''], [' 5" pipe ', 'x'], ['c']])
  })

  for (const [name, text] of [
    ['CR CR LF', 'a,b\r\r\n"1\n",2\r\r\n3,4\r\r\n'],
    ['CR CR LF after a first line for Excel', 'sep=,\r\r\na,b\r\r\n"1\n",2\r\r\n3,4'],
    ['a last 0x1A in a line of its own', 'a,b\r\n"1\n",2\r\n3,4\r\n\u001A'],
    ['a last 0x1A in the last line', 'a,b\n"1\n",2\n3,4\u001A'],
  ] as const)
    it(`has no row for ${name}`, async () => {
      expect((await read(text)).rows).to.deep.equal([
        ['a', 'b'],
        ['1\n', '2'],
        ['3', '4'],
      ])
    })

  it('names the lines with too many fields, and the line of a quote that is not closed', async () => {
    const wide = await read('sep=,\na,b\n1,2\n"x\ny",2,3\n1,2,\n4,5,6\n')
    expect(() => readList(wide, { columns: { name: 'a' }, headerRow: 1 })).to.throw(
      'The file has more than the 2 fields of its header in line 5, 7. Add --separator',
    )
    expect(await faultOf(`a,b\n1,2\n"${'x,y\n'.repeat(600_000)}`)).to.equal('FILE is not valid CSV after line 2')
    expect(await faultOf(Buffer.from('name\nTwin\n', 'utf16le'))).to.match(/^FILE is not text in UTF-8/)
    for (const document of ['<?xml version="1.0"?>\n<Workbook>', '\n<!DOCTYPE html>', '<table>', '{\\rtf1', '%PDF-1.7'])
      expect(await faultOf(document)).to.match(/^FILE is a document/)
  })

  it('doubts a text that is perhaps not in Windows-1252, and reads it in the encoding that is named', async () => {
    // As the bytes are in Windows-1252. Names of the register have capitals only.
    for (const [bytes, encoding, cell] of [
      ['Caf\x82 Sol', 'cp850', 'Café Sol'],
      ['M\xa0ir\xa1n', 'cp850', 'Máirín'],
      ['D\xe9N LAOGHAIRE', 'cp850', 'DÚN LAOGHAIRE'],
      ['SLAN\xe9 LIMITED', 'cp850', 'SLANÚ LIMITED'],
      ['\xb5TH TEORANTA', 'cp850', 'ÁTH TEORANTA'],
      ['\x83IRE', 'macintosh', 'ÉIRE'],
      ['\x90IRE', 'cp850', 'ÉIRE'],
      ['B\x8eal', 'macintosh', 'Béal'],
      ['Caf\xc3\xa9 \xfc', 'utf-8', 'Café \uFFFD'],
    ] as const) {
      const error = await read(Buffer.from(`${bytes}\n`, 'latin1')).catch((cause: unknown) => cause)
      expect(error, bytes).to.include({ argument: 'encoding' })
      expect((await readTable(path, { encoding })).rows).to.deep.equal([[cell]])
    }
    expect((await read(Buffer.from('O\x92Brien \x96 \x8aibenik \x84x\x93 10 \x80\n', 'latin1'))).rows).to.deep.equal([
      ['O’Brien – Šibenik „x“ 10 €'],
    ])
    for (const name of ['Tuatha Dé Danann', 'Café Sol', 'GROßHANDEL', 'MÜLLER', 'São Paulo', 'AéroClub'])
      expect((await read(Buffer.from(`${name}\n`, 'latin1'))).rows).to.deep.equal([[name]])
  })

  it('reads UTF-16 with its mark, and proposes the row of the header', async () => {
    const text = 'Suppliers 2026\n\nname\tnumber\nFoo\t7\n'
    const { rows } = await read(Buffer.from(`\uFEFF${text}`, 'utf16le'))
    expect([proposeHeader(rows), rows[2]]).to.deep.equal([{ row: 3 }, ['name', 'number']])
    const table = await read(Buffer.from(`\uFEFF${text}`, 'utf16le').swap16())
    expect(table.rows).to.deep.equal(rows)
    expect(() => readList(table, { columns: { name: 'name' }, headerRow: 1 })).to.throw('add --header-row 3')
    const list = readList(table, { columns: { name: 'name' }, headerRow: 3 })
    expect([list.above, list.rows.map(({ at, row }) => [at, row])]).to.deep.equal([
      [['Suppliers 2026'], ['']],
      [[4, ['Foo', '7']]],
    ])
  })

  it('gives each column a name in JSON: below a title, without a header, and if names repeat', async () => {
    const added = (list: List) => resultHead(list, 'x.json')[0]?.slice(0, 4)
    const columns = { name: '1' }
    const titled = readList(await read('Suppliers\n\nname,note,note\nFoo,7,8\n'), { columns, headerRow: 3 })
    expect(added(titled)).to.deep.equal(['name', 'note', 'note_2', 'decision'])
    expect(resultHead(titled, 'x.csv').map(([first]) => first)).to.deep.equal(['Suppliers', '', 'name'])
    const bare = readList(await read('Foo,7\n'), { columns, headerRow: 0 })
    expect(added(bare)).to.deep.equal(['column_1', 'column_2', 'decision', 'company_number'])
    expect(resultHead(bare, 'x.xlsx')).to.deep.equal([])
  })

  it('reads and writes sheets, whose numbers, dates and truth values stay what they are', async () => {
    const sheet = join(directory, 'list.xlsx')
    const { format } = await read('a\n')
    const rows = [
      ['Company\u00a0Number', 'Name', 'Since', 'Active'],
      [335801, '=1+1', new Date('2020-01-31'), true],
      [null, ' B _x0041_\t<&>\r\n', null, false],
    ]
    await writeTable(sheet, rows, { format, addedFrom: 1 })
    const table = await readTable(sheet)
    expect(table.rows).to.deep.equal(rows)
    await writeTable(path, table.rows, { format: table.format, addedFrom: 9 })
    expect((await readFile(path, 'utf8')).split('\n')[1]).to.equal('335801,"\'=1+1","2020-01-31",true')
    const tabs = join(directory, 'list.tsv')
    await writeTable(tabs, [['a', 'b']], { format })
    expect(await readFile(tabs, 'utf8')).to.equal('a\tb\n')
  })

  it('finds columns whose headers have no-break or repeated spaces', () => {
    const header = ['A', ' Company\u00a0 Number ']
    expect(findColumns({ number: 'Company Number', other: '1' }, header, true)).to.deep.equal({
      number: [1],
      other: [0],
    })
    expect(() => findColumns({ number: 'Number' }, header, true)).to.throw(/Its columns are: A \| Company Number$/)
    expect(() => findColumns({ number: 'A' }, ['A', 'B', ' A'], true)).to.throw(/several columns named A/)
  })

  it('makes every text that a spreadsheet would run a plain text', () => {
    for (const text of ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', ' =1', '＝1', '＠A'])
      expect(toSafeCell(text)).to.equal(`'${text}`)
    for (const text of ['', 'A = B', '3-D LIMITED', "'=1"]) expect(toSafeCell(text)).to.equal(text)
  })

  it('starts no formula under another separator, and quotes added texts', async () => {
    for (const separator of [',', ';', '\t', '|'])
      expect(toSafeCell(`A${separator} "=1+1${separator}X`)).to.equal(`A${separator} "'=1+1${separator}X`)
    const { format } = await read('a,b\n')
    const row = ['=own text', 'ADDED NAME', 'ECHO;=1+1', '700005', '']
    await writeTable(path, [row], { format, addedFrom: 1 })
    expect(await readFile(path, 'utf8')).to.equal('=own text,"ADDED NAME","ECHO;\'=1+1",700005,\n')
  })

  it('replaces a regular file only, and creates no folder', async () => {
    const { format } = await read('a,b\n')
    const write = (to: string) => writeTable(to, [['a']], { format }).catch(({ message }: Error) => message)
    const target = `${path}.target`
    const link = `${path}.link`
    await writeFile(target, 'kept')
    await symlink(target, link)
    expect(await write(link)).to.equal(`${link} is a device or a link`)
    expect(await readFile(target, 'utf8')).to.equal('kept')
    for (const [to, fault] of [
      [directory, 'is a folder'],
      [join(directory, 'none', 'x.csv'), 'is in a folder that does not exist'],
      [join(target, 'x.csv'), 'is in a folder that does not exist'],
    ] as const)
      expect(await write(to)).to.equal(`${to} ${fault}`)
    // Nothing is written there: a fault would replace the device for the machine.
    for (const device of ['/dev/stdout', '/dev/null'])
      expect(await faultOfTarget(device)).to.equal('is a device or a link')
    expect(await write(target)).to.equal(undefined)
    expect(await readFile(target, 'utf8')).to.equal('a\n')
  })
})
