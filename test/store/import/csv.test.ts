/** Tests the CSV reader: records, malformed rows and limits, for chunks of any size. */
import { Readable } from 'node:stream'
import { expect } from 'chai'
import fc from 'fast-check'
import { readRecords } from '../../../store/import/csv.ts'
import { outcomeOf } from '../../support/register.ts'

async function recordsOf(csv: string | Buffer, chunkBytes: number): Promise<(string[] | null)[]> {
  const bytes = Buffer.from(csv)
  const chunks = []
  for (let at = 0; at < bytes.length; at += chunkBytes) chunks.push(bytes.subarray(at, at + chunkBytes))
  const records: (string[] | null)[] = []
  for await (const batch of readRecords(Readable.from(chunks, { objectMode: false }))) records.push(...batch)
  return records
}

describe('a CSV', () => {
  it('in RFC 4180 form yields the written records', async () => {
    const field = fc.string({ unit: fc.constantFrom('a', 'É', '😀', '"', ',', '\r', '\n', ' ', '') })
    const record = fc.array(field, { minLength: 2, maxLength: 4 })
    const file = fc.array(record, { minLength: 1, maxLength: 6 })
    const quoted = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
    await fc.assert(
      fc.asyncProperty(
        file,
        fc.constantFrom('\n', '\r\n'),
        fc.integer({ min: 1, max: 20 }),
        async (records, end, size) => {
          const csv = records.map((fields) => fields.map(quoted).join(',') + end).join('')
          expect(await recordsOf(csv, size)).to.deep.equal(records)
        },
      ),
    )
  })

  it('yields the same records after a malformed one as without it', async () => {
    const lines = ['1,a', '2,"b ""c"""', '3,"d\ne"', '4,f']
    const withMalformed = [...lines.slice(0, 2), 'x,y"z"', ...lines.slice(2)]
    const records = await recordsOf(withMalformed.map((line) => `${line}\n`).join(''), 7)
    expect(records.filter((record) => record === null)).to.have.lengthOf(1)
    expect(records.filter((record) => record !== null)).to.deep.equal([
      ['1', 'a'],
      ['2', 'b "c"'],
      ['3', 'd\ne'],
      ['4', 'f'],
    ])
  })

  it('loses its first byte order mark only', async () => {
    expect(await recordsOf('\uFEFFa,b\n\uFEFFc,d\n', 4)).to.deep.equal([
      ['a', 'b'],
      ['\uFEFFc', 'd'],
    ])
  })

  it('replaces invalid UTF-8 with U+FFFD for chunks of any size', async () => {
    const bytes = Buffer.concat([Buffer.from('a,'), Buffer.from([0xe2, 0x82]), Buffer.from('b\n')])
    for (const size of [1, 3, 4, 100]) expect(await recordsOf(bytes, size)).to.deep.equal([['a', '\uFFFDb']])
  })

  describe('[11.2] with a large row', () => {
    const first = 'a,b\n'
    const malformed = 'x,y"z"\n'
    const read = async (csv: string) => outcomeOf(recordsOf(csv, 64 * 1024))

    for (const [what, start] of [
      ['in RFC 4180 form', first],
      ['after a malformed row', first + malformed],
      ['as its first row', ''],
    ] as const) {
      it(`${what} accepts 100 fields and refuses 101`, async () => {
        for (const [fields, outcome] of [
          [99, 'done'],
          [100, 'done'],
          [101, 'csv_malformed'],
        ] as const) {
          expect(await read(`${start}${','.repeat(fields - 1)}\n`), String(fields)).to.equal(outcome)
          expect(await read(`${start}${'"x",'.repeat(fields - 1)}"x"\n`), String(fields)).to.equal(outcome)
        }
      })

      it(`${what} accepts 8 KiB and refuses a byte more`, async () => {
        for (const [bytes, outcome] of [
          [8191, 'done'],
          [8192, 'done'],
          [8193, 'csv_malformed'],
        ] as const) {
          expect(await read(`${start}${'x'.repeat(bytes - 1)},y\n`), String(bytes)).to.equal(outcome)
          expect(await read(`${start}${'É'.repeat(bytes / 2)}${'x'.repeat(bytes % 2)}\n`), String(bytes)).to.equal(
            outcome,
          )
          expect(await read(`${start}"${'""'.repeat(bytes)}"\n`), String(bytes)).to.equal(outcome)
        }
      })
    }

    it('of 150 million commas is refused after a small part of it', async () => {
      const commas = Buffer.alloc(64 * 1024, ',')
      for (const start of [first, first + malformed, '', '"', `${first}"`]) {
        let chunks = 0
        async function* endless() {
          yield Buffer.from(start)
          for (; chunks < 150_000_000 / commas.length; chunks += 1) yield commas
        }
        const reading = async () => {
          for await (const _ of readRecords(Readable.from(endless())));
        }
        expect(await outcomeOf(reading())).to.equal('csv_malformed')
        expect(chunks).to.be.lessThan(4)
      }
    })

    it('of quoted line ends and commas is refused after a small part of it', async () => {
      const part = Buffer.from(`"\n"${','.repeat(4_000)}`.repeat(16))
      let chunks = 0
      async function* endless() {
        yield Buffer.from(first + malformed)
        for (; chunks < 1_000; chunks += 1) yield part
      }
      const reading = async () => {
        for await (const _ of readRecords(Readable.from(endless())));
      }
      expect(await outcomeOf(reading())).to.equal('csv_malformed')
      expect(chunks).to.be.lessThan(4)
    })

    it('does not count empty lines as a row', async () => {
      const records = await recordsOf(`${first}${malformed}${'\n'.repeat(200_000)}c,d\n`, 64 * 1024)
      expect(records).to.deep.equal([['a', 'b'], null, ['c', 'd']])
    })
  })
})
