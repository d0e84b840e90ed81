/** Tests of the rows of the register's CSV: the exact header, and malformed rows. */
import { Readable } from 'node:stream'
import { expect } from 'chai'
import fc from 'fast-check'
import { COLUMNS } from '../../../store/dataset/company.ts'
import { readRows } from '../../../store/import/rows.ts'
import { registerRow, toCsvLine, toCsv, HEADER, numberedRows, outcomeOf } from '../../support/register.ts'

async function rowsOf(csv: string | Buffer, chunkBytes = 997) {
  const bytes = Buffer.from(csv)
  const chunks = []
  for (let at = 0; at < bytes.length; at += chunkBytes) chunks.push(bytes.subarray(at, at + chunkBytes))
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
  it('keep every character, also commas, quotes and line ends inside quotes, in chunks of any size', async () => {
    const field = fc.string({ unit: fc.constantFrom('a', 'É', '😀', '"', ',', '\r', '\n', ' ', '') })
    const file = fc.array(fc.record({ company_num: field, company_name: field, princ_object_code: field }))
    await fc.assert(
      fc.asyncProperty(file, fc.integer({ min: 1, max: 20 }), async (changes, chunkBytes) => {
        const rows = changes.map(registerRow)
        const read = await rowsOf(toCsv(...rows), chunkBytes)
        expect(read).to.deep.equal(rows.map((row) => ({ kind: 'row', row })))
      }),
      { numRuns: 20 },
    )
  })

  for (const quote of ['', '"']) {
    it(`[11.2] have at most 100 fields and 8 KiB ${quote ? 'with' : 'without'} quotes`, async () => {
      const outcome = (line: string) => outcomeOf(rowsOf(`${HEADER}\nx,y"z"\n${line}\n`))
      const fields = (count: number) => Array.from({ length: count }, () => `${quote}x${quote}`).join(',')
      const bytes = (count: number) => `${quote}${'É'.repeat(count / 2)}${'x'.repeat(count % 2)}${quote},`
      expect([await outcome(fields(100)), await outcome(fields(101))]).to.deep.equal(['done', 'csv_malformed'])
      expect([await outcome(bytes(8192)), await outcome(bytes(8193))]).to.deep.equal(['done', 'csv_malformed'])
    })
  }

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
