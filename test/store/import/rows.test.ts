/** Tests of the rows of the register's CSV: the exact header, and malformed rows. */
import { Readable } from 'node:stream'
import { expect } from 'chai'
import { COLUMNS, readRows } from '../../../store/import/rows.ts'
import { registerRow, toCsvLine, toCsv, HEADER, numberedRows, outcomeOf } from '../../support/register.ts'

/** An odd size, so that chunks split rows and characters at any position. */
const CHUNK_BYTES = 997

async function rowsOf(csv: string | Buffer) {
  const bytes = Buffer.from(csv)
  const chunks = []
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) chunks.push(bytes.subarray(at, at + CHUNK_BYTES))
  const rows = []
  for await (const some of readRows(Readable.from(chunks, { objectMode: false }))) rows.push(...some)
  return rows
}

/** Returns the company number of each row, or the reason of its rejection. */
async function summarise(csv: string | Buffer): Promise<string[]> {
  return (await rowsOf(csv)).map((read) => (read.kind === 'row' ? read.row.company_num : read.reason))
}

describe('the header of the register', () => {
  it('is its 21 columns in their order', async () => {
    expect(COLUMNS).to.have.lengthOf(21)
    expect(await rowsOf(toCsv(registerRow()))).to.deep.equal([{ kind: 'row', row: registerRow() }])
  })

  it('may have a byte order mark and spaces around its names', async () => {
    const spaced = COLUMNS.map((name) => ` ${name}\t`).join(',')
    expect(await summarise(`\uFEFF${spaced}\n${toCsvLine(registerRow())}\n`)).to.deep.equal(['73848'])
    expect(await summarise(`\uFEFF${toCsv(registerRow())}`)).to.deep.equal(['73848'])
  })

  for (const [what, header] of [
    ['reordered', COLUMNS.toReversed().join(',')],
    ['with a column missing', COLUMNS.slice(0, -1).join(',')],
    ['with an additional column', `${HEADER},extra`],
    ['in upper case', HEADER.toUpperCase()],
    ['if it is missing', toCsvLine(registerRow())],
    ['of the datastore, with an _id', `_id,${HEADER}`],
    ['with semicolons', HEADER.replaceAll(',', ';')],
    ['if it is malformed, even before a correct one', `a"b"\n${HEADER}`],
  ] as const) {
    it(`[11.2] is refused ${what}`, async () => {
      expect(await outcomeOf(rowsOf(`${header}\n${toCsvLine(registerRow())}\n`))).to.equal('wrong_header')
    })
  }

  it('is refused in an HTML page and in an empty file', async () => {
    const page =
      '<!DOCTYPE html>\n<html lang="en"><head>\n<title>Cookies</title></head>\n<body class="x"></body></html>\n'
    for (const text of [page, page.replaceAll('\n', '').repeat(500), '', '\n\n'])
      expect(await outcomeOf(rowsOf(text))).to.equal('wrong_header')
  })

  it('may be the only line', async () => {
    expect(await rowsOf(`${HEADER}\n`)).to.deep.equal([])
  })
})

describe('the rows of the register', () => {
  it('are read in the order of the file', async () => {
    const rows = numberedRows(2_000)
    expect(await summarise(toCsv(...rows))).to.deep.equal(rows.map((row) => row.company_num))
  })

  it('end with LF, CRLF or both in one file', async () => {
    const csv = toCsv(...numberedRows(3))
    const expected = numberedRows(3).map((row) => ({ kind: 'row', row }))
    expect(await rowsOf(csv)).to.deep.equal(expected)
    expect(await rowsOf(csv.replaceAll('\n', '\r\n'))).to.deep.equal(expected)
    expect(await rowsOf(csv.replace('\n', '\r\n'))).to.deep.equal(expected)
    expect(await rowsOf(csv.replace(/\n$/, ''))).to.deep.equal(expected)
  })

  it('may be separated by empty lines', async () => {
    expect(await summarise(toCsv(...numberedRows(2)).replaceAll('\n', '\n\n'))).to.deep.equal(['1', '2'])
  })

  it('keep every character, also commas, quotes and line ends inside quotes', async () => {
    const row = registerRow({ company_name: 'A, "B"\nÉIRE 😀', company_address_4: 'DUBLIN 7, DUBLIN\r\nIreland' })
    for (let padding = 0; padding < 8; padding += 1) {
      const before = registerRow({ company_name: 'x'.repeat(CHUNK_BYTES - 200 + padding) })
      expect((await rowsOf(toCsv(before, row)))[1]).to.deep.equal({ kind: 'row', row })
    }
  })

  it('[11.3] are rejected with a missing or an additional column', async () => {
    const short = toCsvLine(registerRow()).replace(/,[^,]*$/, '')
    const csv = `${toCsv(registerRow({ company_num: '1' }))}${short}\n${short},,\n${toCsvLine(registerRow({ company_num: '2' }))}\n`
    expect(await summarise(csv)).to.deep.equal(['1', 'wrong_column_count', 'wrong_column_count', '2'])
  })

  it('are rejected once each for quotes inside a value', async () => {
    const bad = toCsvLine(registerRow()).replace('PLAIN FIXTURE', 'PLAIN "FIX" "TURE"')
    const csv = `${toCsv(registerRow({ company_num: '1' }))}${bad}\n${toCsvLine(registerRow({ company_num: '2' }))}\n`
    expect(await summarise(csv)).to.have.members(['1', 'malformed_row', '2'])
  })

  it('are rejected for text after a closing quote, up to the next row with quotes', async () => {
    const bad = toCsvLine(registerRow()).replace('PLAIN FIXTURE', '"PLAIN" FIXTURE')
    const after = [registerRow({ company_num: '2', company_address_4: 'A, B' }), registerRow({ company_num: '3' })]
    const csv = `${toCsv(registerRow({ company_num: '1' }))}${bad}\n${after.map(toCsvLine).join('\n')}\n`
    expect(await summarise(csv)).to.have.members(['1', 'malformed_row', 'malformed_row', '3'])
  })

  it('are never merged by an unclosed quote', async () => {
    const open = toCsvLine(registerRow({ company_num: '1' })).replace('PLAIN', '"PLAIN')
    const rows = await rowsOf(`${HEADER}\n${open}\n${toCsv(registerRow({ company_num: '2', company_name: 'A, B' }))}`)
    expect(rows.filter(({ kind }) => kind === 'row')).to.deep.equal([])
  })

  it('end the import if an unclosed quote consumes the rows after it', async () => {
    const open = toCsvLine(registerRow()).replace('PLAIN', '"PLAIN')
    const toTheEnd = `${toCsv(...numberedRows(3))}${open}\n${toCsvLine(registerRow())}\n`
    expect(await outcomeOf(rowsOf(toTheEnd))).to.equal('csv_malformed')
    const tooFar = `${toTheEnd}${numberedRows(500).map(toCsvLine).join('\n')}\n${toCsvLine(registerRow({ eircode: '"' }))}\n`
    expect(await outcomeOf(rowsOf(tooFar))).to.equal('csv_malformed')
  })

  it('end the import if their stream fails', async () => {
    async function* broken() {
      yield Buffer.from(toCsv(registerRow()))
      throw new Error('broken')
    }
    const read = async () => {
      for await (const _ of readRows(Readable.from(broken())));
    }
    expect(await outcomeOf(read())).to.equal('csv_malformed')
  })

  it('close their stream if it is not the register', async () => {
    const csv = Readable.from(Array.from({ length: 100 }, () => Buffer.from('x,y\n'.repeat(10_000))))
    const read = async () => {
      for await (const _ of readRows(csv));
    }
    expect(await outcomeOf(read())).to.equal('wrong_header')
    await new Promise((resolve) => setImmediate(resolve))
    expect(csv.destroyed).to.equal(true)
  })
})
