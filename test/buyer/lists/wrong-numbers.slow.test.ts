/** Company numbers of a list that are wrong: one, or those of a whole column. With the real service and payments. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { parse } from 'csv-parse/sync'
import { runCommand } from '../../support/cli.ts'
import { startTestService } from '../../support/service.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'
import { useService } from '../../support/use-service.ts'

const UNKNOWN = '99999'

describe('a list with wrong company numbers', function () {
  this.timeout(120_000)
  const { service } = useService(() => startTestService())
  let directory: string
  let file: string

  beforeEach(async () => {
    directory = await makeTemporaryDirectory()
    file = join(directory, 'list.csv')
    await writeFile(join(directory, 'buyer.key'), service.buyerKey, { mode: 0o600 })
  })

  const run = async (args: string[], change: Parameters<typeof runCommand>[1] = {}) => {
    const buyer = ['client', '--url', service.url, '--key-file', join(directory, 'buyer.key')]
    let result = { code: -1, text: '', stderr: '' }
    const paid = await service.transfersOf(async () => {
      result = await runCommand([...buyer, 'reconcile', file, '--yes', ...args], change)
    })
    return { ...result, paid }
  }
  const decisions = async () => {
    const rows = parse(await readFile(join(directory, 'list.reconciled.csv')), { columns: true, bom: true })
    return (rows as Record<string, string>[]).map((row) =>
      [row['decision'], row['company_number'], row['why']].join('|'),
    )
  }

  describe('[15.15] in most rows of the first payments', () => {
    /** Twice as many rows as one payment has. The numbers are those of other companies, or of none. */
    const rows = Array.from(
      { length: 50 },
      (_, at) => `Numbered Fixture ${(at % 25) + 1} é${at},${at % 2 ? 73848 : UNKNOWN}`,
    )
    const text = ['Company,CRO', ...rows, ''].join('\n')
    const BOUGHT = /At most \S+ USDC/

    it('buys nothing after it, also in the next run, until the column is named', async () => {
      await writeFile(file, text)
      for (const paid of [1, 0]) {
        const stopped = await run(['--batch'])
        expect([stopped.code, stopped.paid], stopped.stderr).to.deep.equal([2, paid])
        expect(stopped.stderr).to.match(
          /The column CRO has perhaps no company numbers, or the column Company no company names: of 25 rows, 13 have a number that no company has, and 12 have the number of a company with another name\. Paid: (?:0\.05|0\.00) USDC, in all runs 0\.05 USDC\. Nothing more was bought\. Add --number-column/,
        )
      }
      const without = await run(['--batch', '--number-column', 'none', '--dry-run'])
      expect(without.text).to.contain('Other columns than in earlier runs: 12 paid rows are bought again.')
      const continued = await run(['--batch', '--number-column', 'CRO', '--max-total', '1.00'])
      expect([continued.code, continued.paid > 0], continued.stderr).to.deep.equal([0, true])
      const again = await run(['--batch'])
      expect([again.code, again.text.match(BOUGHT)?.length], again.stderr).to.deep.equal([0, 1])
    })

    it('judges the first three rows that have both without --batch, also in the next run', async () => {
      await writeFile(file, ['Company,CRO', 'Plain Fixture Ltd,', ...rows].join('\n'))
      for (const paid of [1, 0]) {
        const stopped = await run([])
        expect([stopped.code, stopped.paid]).to.deep.equal([2, paid])
        expect(stopped.stderr).to.contain(
          'of 3 rows, 2 have a number that no company has, and 1 have the number of a company with another name',
        )
      }
    })

    it('goes on after one wrong number in the first row', async () => {
      const right = [1, 2, 3].map((at) => `Numbered Fixture ${at},500${at}`)
      await writeFile(file, ['Company,CRO', `Plain Fixture Ltd,${UNKNOWN}`, ...right].join('\n'))
      const { code, stderr, text: said } = await run([])
      expect(code, stderr).to.equal(0)
      expect(said).to.contain('1 row has a number in the column CRO that no company has.\nPaid in')
    })
  })

  for (const batch of [[], ['--batch']])
    it(`[15.17] asks such a row by its name after all others, and only its Eircode makes it certain ${batch.join('')}`, async () => {
      const numbers = ['Numbered Fixture 1,5001,', 'Numbered Fixture 2,5002,', 'Numbered Fixture 3,5003,']
      const wrong = [`Plain Fixture Ltd,${UNKNOWN},`, `Plain Fixture Ltd,${UNKNOWN},T12 AB34`, `Unheard Of,${UNKNOWN},`]
      await writeFile(file, ['Company,CRO,Eircode', ...numbers.slice(0, 2), ...wrong, numbers[2], ''].join('\n'))
      const paths: string[] = []
      const record: typeof fetch = async (input, init) => {
        if (new Headers(init?.headers).has('PAYMENT-SIGNATURE')) paths.push(init?.body as string)
        return fetch(input, init)
      }
      const first = await run(batch, { fetch: record })
      expect(first.code, first.stderr).to.equal(0)
      expect(first.text).to.contain(
        'Rows whose number no company has are asked by their names too, at most 6, in the same sum',
      )
      expect(first.text).to.contain('At most 0.024 USDC')
      const shown = await decisions()
      const note = `no company has the number ${UNKNOWN}`
      expect(shown.map((each) => each.split('|').slice(0, 2).join(' '))).to.deep.equal([
        'matched 5001',
        'matched 5002',
        'ambiguous ',
        'matched 73848',
        'no_match ',
        'matched 5003',
      ])
      expect(shown[2]).to.match(/^ambiguous\|\|73848 [^:]*: no Eircode confirms it; no company has the number 99999/)
      for (const [at, each] of shown.entries()) expect(each.includes(note), each).to.equal(at > 1 && at < 5)
      const isByName = (body: string) => body.includes('Unheard Of') && !body.includes('company_number')
      expect(paths.findIndex(isByName)).to.be.greaterThan(
        paths.findLastIndex((body) => body.includes('company_number')),
      )
      const again = await run(batch)
      expect([again.code, again.paid, await decisions()], again.stderr).to.deep.equal([0, 0, shown])
      expect(again.text).to.match(/\d paid before\.\nNo new payment is needed\./)
    })

  it('[15.17] asks as many by name as --max-total allows, and the others in the next run', async () => {
    const wrong = Array.from({ length: 4 }, (_, at) => `Numbered Fixture ${at + 1},${UNKNOWN}${at}`)
    await writeFile(file, ['Company,CRO', ...wrong].join('\n'))
    const named = ['--number-column', 'CRO', '--max-total']
    const first = await run([...named, '0.012'])
    expect([first.code, first.paid], first.stderr).to.deep.equal([0, 2])
    expect(first.text)
      .to.contain('too, at most 2, in the same sum')
      .and.contain(
        '4 rows have a number in the column CRO that no company has.\nThe same command asks 2 of them by their names.',
      )
    const shown = async () => (await decisions()).map((each) => each.split('|')[0])
    expect(await shown()).to.deep.equal(['ambiguous', 'ambiguous', 'company_not_found', 'company_not_found'])
    const second = await run([...named, '0.020'])
    expect([second.code, second.paid], second.stderr).to.deep.equal([0, 2])
    expect(await shown()).to.deep.equal(['ambiguous', 'ambiguous', 'ambiguous', 'ambiguous'])
  })

  it('shows the company of the name in the review of a row with the number of another one', async () => {
    await writeFile(file, 'Company,CRO\nPlain Fixture Ltd,1004\n')
    const review = join(directory, 'review.csv')
    await run(['--review', review])
    const rows = parse(await readFile(review), { columns: true, bom: true }) as Record<string, string>[]
    expect(rows.map((row) => [row['decision'], row['candidate_number'], row['candidate_reason']])).to.deep.equal([
      ['conflicting', '1004', 'the company with this number has another name'],
      ['conflicting', '73848', 'has the name of the row'],
    ])
    const [head, other, own] = (await readFile(review, 'utf8')).trimEnd().split(/\r?\n/)
    await writeFile(review, `${head}\n${other}\n${own}73848\n`)
    expect((await run(['--review', review])).paid).to.equal(1)
    expect(await decisions()).to.deep.equal(['chosen|73848|decided by a person'])
  })

  it('names a chosen number that no company has', async () => {
    await writeFile(file, `Company,CRO\nPlain Fixture Ltd,${UNKNOWN}\n`)
    const review = join(directory, 'review.csv')
    await run(['--review', review])
    const [head, first] = (await readFile(review, 'utf8')).trimEnd().split(/\r?\n/)
    await writeFile(review, `${head}\n${first}900001\n`)
    const { code, text, stderr } = await run(['--review', review])
    expect(code, stderr).to.equal(0)
    expect(text).to.contain('1 row has a chosen_number that no company has.')
    expect(text).not.to.contain('The same command')
    expect(await decisions()).to.satisfy(([row]: string[]) => row!.endsWith('the chosen_number is 900001'))
  })
})
