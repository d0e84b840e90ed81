/** The register's CSV row by row: its exact header, and what becomes of rows that are none. */
import { Readable } from 'node:stream'
import { expect } from 'chai'
import { ROW_BYTES_MAX } from '../../../store/import/csv.ts'
import { COLUMNS, readRows, type ReadRow } from '../../../store/import/rows.ts'
import { aRow, csvLine, csvOf, HEADER, outcomeOf } from '../../support/register.ts'

/** As large a piece of the file as comes at a time; odd, so that it cuts rows and characters anywhere. */
const CHUNK_BYTES = 997

async function rowsOf(csv: string | Buffer): Promise<ReadRow[]> {
  const bytes = Buffer.from(csv)
  const chunks = []
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) chunks.push(bytes.subarray(at, at + CHUNK_BYTES))
  const rows: ReadRow[] = []
  for await (const some of readRows(Readable.from(chunks, { objectMode: false }))) rows.push(...some)
  return rows
}

/** The company numbers of rows, or why they are none. */
async function summary(csv: string | Buffer): Promise<string[]> {
  return (await rowsOf(csv)).map((read) => (read.kind === 'row' ? read.row.company_num : read.reason))
}

const numbered = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => aRow({ company_num: String(from + index) }))

describe('the header of the register', () => {
  it('is its 21 columns in their order', async () => {
    expect(COLUMNS).to.have.lengthOf(21)
    expect(await rowsOf(csvOf(aRow()))).to.deep.equal([{ kind: 'row', row: aRow() }])
  })

  it('may follow a byte order mark and have spaces round its names', async () => {
    const spaced = COLUMNS.map((name) => ` ${name}\t`).join(',')
    expect(await summary(`\uFEFF${spaced}\n${csvLine(aRow())}\n`)).to.deep.equal(['73848'])
    expect(await summary(`\uFEFF${csvOf(aRow())}`)).to.deep.equal(['73848'])
  })

  for (const [what, header] of [
    ['reordered', COLUMNS.toReversed().join(',')],
    ['short of a column', COLUMNS.slice(0, -1).join(',')],
    ['longer by a column', `${HEADER},extra`],
    ['in upper case', HEADER.toUpperCase()],
    ['missing, so that a row comes first', csvLine(aRow())],
    ['that of the datastore, with an _id', `_id,${HEADER}`],
    ['separated by semicolons', HEADER.replaceAll(',', ';')],
    ['malformed, with a right one after it', `a"b"\n${HEADER}`],
  ] as const) {
    it(`is refused ${what}`, async () => {
      expect(await outcomeOf(rowsOf(`${header}\n${csvLine(aRow())}\n`))).to.equal('wrong_header')
    })
  }

  it('is refused as a web page', async () => {
    const page =
      '<!DOCTYPE html>\n<html lang="en"><head>\n<title>Cookies</title></head>\n<body class="x"></body></html>\n'
    expect(await outcomeOf(rowsOf(page))).to.equal('wrong_header')
    expect(await outcomeOf(rowsOf(page.replaceAll('\n', '').repeat(500)))).to.equal('wrong_header')
  })

  it('is refused as an empty file', async () => {
    expect(await outcomeOf(rowsOf(''))).to.equal('wrong_header')
    expect(await outcomeOf(rowsOf('\n\n'))).to.equal('wrong_header')
  })

  it('may stand alone', async () => {
    expect(await rowsOf(`${HEADER}\n`)).to.deep.equal([])
  })
})

describe('the rows of the register', () => {
  it('are all there, in the order of the file', async () => {
    const rows = numbered(1, 2_000)
    expect(await summary(csvOf(...rows))).to.deep.equal(rows.map((row) => row.company_num))
  })

  it('end in LF or CRLF, or in either in one file', async () => {
    const csv = csvOf(...numbered(1, 3))
    const expected = numbered(1, 3).map((row) => ({ kind: 'row', row }))
    expect(await rowsOf(csv)).to.deep.equal(expected)
    expect(await rowsOf(csv.replaceAll('\n', '\r\n'))).to.deep.equal(expected)
    expect(await rowsOf(csv.replace('\n', '\r\n'))).to.deep.equal(expected)
    expect(await rowsOf(csv.replace(/\n$/, ''))).to.deep.equal(expected)
  })

  it('may have empty lines between them, which are no rows', async () => {
    expect(await summary(csvOf(...numbered(1, 2)).replaceAll('\n', '\n\n'))).to.deep.equal(['1', '2'])
  })

  it('keep commas, quotes and line ends inside quotes, and every character', async () => {
    const row = aRow({ company_name: 'A, "B"\nÉIRE 😀', company_address_4: 'DUBLIN 7, DUBLIN\r\nIreland' })
    for (let padding = 0; padding < 8; padding += 1) {
      const before = aRow({ company_name: 'x'.repeat(CHUNK_BYTES - 200 + padding) })
      expect((await rowsOf(csvOf(before, row)))[1]).to.deep.equal({ kind: 'row', row })
    }
  })

  it('are rejected and counted with a column too few or too many', async () => {
    const short = csvLine(aRow()).replace(/,[^,]*$/, '')
    const csv = `${csvOf(aRow({ company_num: '1' }))}${short}\n${short},,\n${csvLine(aRow({ company_num: '2' }))}\n`
    expect(await summary(csv)).to.deep.equal(['1', 'wrong_column_count', 'wrong_column_count', '2'])
  })

  it('are rejected once each for quotes in the middle of a value', async () => {
    const bad = csvLine(aRow()).replace('PLAIN FIXTURE', 'PLAIN "FIX" "TURE"')
    const csv = `${csvOf(aRow({ company_num: '1' }))}${bad}\n${csvLine(aRow({ company_num: '2' }))}\n`
    expect(await summary(csv)).to.have.members(['1', 'malformed_row', '2'])
  })

  it('are rejected for text after a closing quote, up to the next row with quotes', async () => {
    const bad = csvLine(aRow()).replace('PLAIN FIXTURE', '"PLAIN" FIXTURE')
    const after = [aRow({ company_num: '2', company_address_4: 'A, B' }), aRow({ company_num: '3' })]
    const csv = `${csvOf(aRow({ company_num: '1' }))}${bad}\n${after.map(csvLine).join('\n')}\n`
    expect(await summary(csv)).to.have.members(['1', 'malformed_row', 'malformed_row', '3'])
  })

  it('are never made of two companies by a quote that is not closed', async () => {
    const open = csvLine(aRow({ company_num: '1' })).replace('PLAIN', '"PLAIN')
    const rows = await rowsOf(`${HEADER}\n${open}\n${csvOf(aRow({ company_num: '2', company_name: 'A, B' }))}`)
    expect(rows.filter(({ kind }) => kind === 'row')).to.deep.equal([])
  })

  it('end the import when a quote that is not closed swallows them', async () => {
    const open = csvLine(aRow()).replace('PLAIN', '"PLAIN')
    const toTheEnd = `${csvOf(...numbered(1, 3))}${open}\n${csvLine(aRow())}\n`
    expect(await outcomeOf(rowsOf(toTheEnd))).to.equal('csv_malformed')
    const tooFar = `${toTheEnd}${numbered(1, 500).map(csvLine).join('\n')}\n${csvLine(aRow({ eircode: '"' }))}\n`
    expect(await outcomeOf(rowsOf(tooFar))).to.equal('csv_malformed')
  })

  it('end the import when one is longer than any row, so that memory stays bounded', async () => {
    const lengthOf = (row: ReturnType<typeof aRow>) => Object.values(row).join('').length
    const rest = lengthOf(aRow({ company_name: '' }))
    const longest = aRow({ company_name: 'x'.repeat(ROW_BYTES_MAX - rest) })
    expect(await summary(csvOf(longest))).to.deep.equal(['73848'])
    // The parser looks before it takes a character, and no more after the last.
    const longer = { ...longest, company_name: `${longest.company_name}xx` }
    expect(await outcomeOf(rowsOf(csvOf(longer)))).to.equal('csv_malformed')
  })

  it('end the import with the error of the stream they come from', async () => {
    async function* broken() {
      yield Buffer.from(csvOf(aRow()))
      throw new Error('broken')
    }
    const read = async () => {
      for await (const _ of readRows(Readable.from(broken())));
    }
    expect(await outcomeOf(read())).to.equal('csv_malformed')
  })

  it('close the stream they come from when it is not the register', async () => {
    const csv = Readable.from(Array.from({ length: 100 }, () => Buffer.from('x,y\n'.repeat(10_000))))
    const read = async () => {
      for await (const _ of readRows(csv));
    }
    expect(await outcomeOf(read())).to.equal('wrong_header')
    await new Promise((resolve) => setImmediate(resolve))
    expect(csv.destroyed).to.equal(true)
  })
})
