/** The command `client reconcile` with the real service and real payments. */
import { existsSync } from 'node:fs'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { expect } from 'chai'
import { parse } from 'csv-parse/sync'
import {
  decodePaymentSignatureHeader,
  encodePaymentRequiredHeader,
  encodePaymentSignatureHeader,
} from '@x402/core/http'
import type { PaymentRequired } from '@x402/core/types'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { decodeQuote } from '../../../buyer/library/quote.ts'
import { createAuthorization, typedDataOf } from '../../../buyer/library/signer.ts'
import type { CliContext } from '../../../agent/command-line/context.ts'
import { CANDIDATE_COLUMNS } from '../../../buyer/candidate-row.ts'
import { SCORE_MAX } from '../../../agent/operation/result.ts'
import { readTable, writeTable } from '../../../buyer/table/table-file.ts'
import { runCommand } from '../../support/cli.ts'
import { startTestService } from '../../support/service.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'
import { useService } from '../../support/use-service.ts'

const ADDED =
  'decision,company_number,legal_name,status,address,eircode,registered_date,next_annual_return_date,filing,why,' +
  'receipt,snapshot_id'
const OTHERS =
  'company_type,address_1,address_2,address_3,address_4,status_date,score,evidence,explanation,notes,' +
  [1, 2, 3].map((at) => CANDIDATE_COLUMNS.map((column) => `alternative_${at}_${column}`)).join()
const LIST = `id,Supplier,note
1,Plain Fixture Ltd,"a ""quoted"" note"
2,PLAIN FIXTURE LTD,
3,Twin Fixture Limited,"two
lines"
4,Unheard Of Holdings,=1+1
5,,
6,ab,too short
7,Plain Fixture Ltd,
`

type Row = Record<string, string>

describe('[15.11] the command client reconcile', function () {
  this.timeout(240_000)
  const { service } = useService(() => startTestService())
  let directory: string
  let file: string
  let out: string

  beforeEach(async () => {
    directory = await makeTemporaryDirectory()
    file = join(directory, 'list.csv')
    out = join(directory, 'list.reconciled.csv')
    await writeFile(join(directory, 'buyer.key'), service.buyerKey, { mode: 0o600 })
  })

  const client = () => ['client', '--url', service.url, '--key-file', join(directory, 'buyer.key')]
  const run = (args: string[], change: Partial<CliContext> = {}) =>
    runCommand([...client(), 'reconcile', file, ...args], change)
  /** Lets `answer` answer the requests with a payment. */
  const onPayment =
    (answer: (send: () => Promise<Response>, input: string | URL | Request, body: string) => unknown): typeof fetch =>
    async (input, init) => {
      const send = () => fetch(input, init)
      if (!new Headers(init?.headers).has('PAYMENT-SIGNATURE')) return send()
      return (await answer(send, input, init?.body as string)) as Response
    }
  const readOut = async () => parse(await readFile(out), { columns: true, bom: true }) as Row[]
  const purchases = async () =>
    (await readdir(`${out}.purchases`).catch(() => [])).filter((name) => /^[0-9a-f]{64}-\d+\.json$/.test(name))

  /** Moves the end of each saved payment into the past. */
  /** Signs the payments as if that had been earlier, so that they have ended. */
  async function expirePayments(key: `0x${string}`): Promise<void> {
    const account = privateKeyToAccount(key)
    for (const name of await purchases()) {
      const path = join(`${out}.purchases`, name)
      const purchase = JSON.parse(await readFile(path, 'utf8')) as { payment: string; quote: PaymentRequired }
      const sent = decodePaymentSignatureHeader(purchase.payment)
      const quote = decodeQuote(encodePaymentRequiredHeader(purchase.quote))
      const authorization = createAuthorization(quote, account.address, new Date(Date.now() - 420_000))
      const signature = await account.signTypedData(typedDataOf(quote, authorization))
      const payment = encodePaymentSignatureHeader({ ...sent, payload: { authorization, signature } })
      await writeFile(path, JSON.stringify({ ...purchase, payment }))
    }
  }

  it('adds the company of each matched row, buys equal rows once, and names no company for another row', async () => {
    await writeFile(file, LIST)
    expect(await service.transfersOf(() => run(['--column', 'Supplier', '--yes']))).to.equal(4)
    const text = await readFile(out, 'utf8')
    expect(text.split('\n')[0]).to.equal(`id,Supplier,note,${ADDED}`)
    expect(text).to.contain('\n1,Plain Fixture Ltd,"a ""quoted"" note",matched,73848,"PLAIN FIXTURE LIMITED",')
    const whys = (await readOut()).map(({ why }) => why)
    expect(whys.slice(3)).to.deep.equal([
      'no company has such a name',
      'no name and no number',
      'name must have 3 to 160 characters after normalisation',
      'equal name without its legal form',
    ])
    expect(whys[2]).to.match(/^100[45] TWIN FIXTURE LIMITED: another company has the same name \| 100[45] TWIN/)
    expect(await service.transfersOf(() => run(['--column', 'Supplier', '--all-columns']))).to.equal(0)
    expect((await readFile(out, 'utf8')).split('\n')[0]).to.equal(`id,Supplier,note,${ADDED},${OTHERS}`)
    const rows = await readOut()
    const decisions = 'matched,matched,ambiguous,no_match,not_bought,invalid_body,matched'
    expect(rows.map(({ decision }) => decision).join()).to.equal(decisions)
    expect(rows[2]).to.include({ note: 'two\nlines', company_number: '', legal_name: '', status: '' })
    const alternatives = [rows[2]?.['alternative_1_number'], rows[2]?.['alternative_2_number']]
    expect(alternatives).to.have.members(['1004', '1005'])
    expect(rows[2]).to.include({ alternative_1_name: 'TWIN FIXTURE LIMITED', score: String(SCORE_MAX) })
    const shown = { address_1: '1 FIXTURE STREET', company_type: 'LTD - Private Company Limited by Shares' }
    expect(rows[0]).to.include({ ...shown, company_number: '73848', status: 'Normal', receipt: rows[6]?.['receipt'] })
    expect(rows[0]?.['registered_date']).to.match(/^\d{4}-\d\d-\d\d$/)
    expect(rows[5]?.['notes']).to.match(/^name must have 3 to 160/)
    expect(rows[0]?.['snapshot_id']).to.match(/^sha256:/)
    expect(rows[3]?.['note']).to.equal('=1+1')
    const verified = await runCommand(['verify', join(directory, rows[0]?.['receipt'] ?? ''), '--issuer', service.url])
    expect(verified.code).to.equal(0)
    expect(await service.transfersOf(() => run(['--column', '2']))).to.equal(0)
    expect(await readFile(out, 'utf8')).to.equal(text)
  })

  it('[15.14] proposes the columns, and looks up a list of numbers', async () => {
    for (const [text, columns, price, decisions] of [
      [
        'Supplier No,Supplier Name,CRO Number\n1002,Plain Fixture Ltd,73848\n',
        'name = Supplier Name, company_number = CRO Number',
        '0.004',
        'matched',
      ],
      ['73848\n1002\n', 'company_number = column 1', '0.002', 'matched,matched'],
    ] as const) {
      await writeFile(file, text)
      const written = join(directory, `${price}.csv`)
      const { lines, code } = await run(['--yes', '--out', written])
      expect([code, lines[0]]).to.deep.equal([0, `Columns: ${columns}.`])
      expect(lines.join()).to.contain(`At most ${price} USDC`)
      expect((await readFile(written, 'utf8')).match(/matched/g)?.join()).to.equal(decisions)
    }
  })

  it('[15.18] reads a list by the columns of its first payment until others are named, which buy rows again', async () => {
    await writeFile(file, 'Customer,Remark\nPlain Fixture,a\nTwin Fixture,b\n')
    expect(await service.transfersOf(() => run(['--column', 'Remark', '--yes', '--dry-run']))).to.equal(0)
    expect((await run(['--yes'])).lines[0]).to.equal('Columns: name = Customer.')
    // The proposal of this file is another one.
    await writeFile(
      file,
      'Customer,Company Name\nPlain Fixture,Aleo Fixture Teoranta\nTwin Fixture,Plain Fixture Ltd\n',
    )
    const same = await run(['--yes'])
    expect([same.lines[0], same.lines[2]]).to.deep.equal(['Columns: name = Customer.', 'No new payment is needed.'])
    const changed = await run(['--column', 'Company Name'])
    expect(changed.text).to.contain('Other columns than in earlier runs: 2 paid rows are bought again.')
    expect(changed.stderr).to.contain('Nothing was signed')
    expect((await run(['--yes', '--column', 'Company Name'])).code).to.equal(0)
    expect((await run([])).lines[0]).to.equal('Columns: name = Company Name.')
    await writeFile(file, 'Customer\nPlain Fixture\n')
    const gone = await run([])
    expect([gone.code, gone.stderr]).to.deep.equal([
      2,
      'error: The file has no column Company Name. Its columns are: Customer. Earlier runs of this list have read it. ' +
        'Name another column, or none (add --help for usage)\n',
    ])
  })

  it('reads other separators, Windows-1252 and rows without a header', async () => {
    await writeFile(
      file,
      Buffer.from('9;"Al\xe9o Fixture Teoranta"; D02 X285;n/a \x80\r\n8;Numbered Fixture 3\r\n', 'latin1'),
    )
    const args = ['--column', '2', '--eircode-column', '3', '--address-column', '4', '--no-header', '--yes']
    const { code, stderr } = await run(args)
    expect([code, stderr]).to.deep.equal([0, ''])
    const text = await readFile(out, 'utf8')
    expect(text.split('\r\n')[0]).to.match(
      /^\uFEFF9;Aléo Fixture Teoranta; D02 X285;n\/a €;matched;1002;"ALÉO FIXTURE TEORANTA";/,
    )
    expect(text.split('\r\n')[1]).to.match(/^8;Numbered Fixture 3;;;matched;5003;/)
  })

  it('[12.20] reads numbers as people type them, and leaves out what cannot be read, with a note', async () => {
    const cells = ['685958.0', '3.358E+05', 'N/A', 'IE6388047V', '="5003"']
    const list = [
      'n\tc\te',
      ...cells.map((cell) => `Plain Fixture\t${JSON.stringify(cell).replaceAll('\\"', '""')}\tn/a`),
    ]
    await writeFile(
      file,
      [...list, 'Plain Fixture\t999999\t', '\tIE1002.\t', '\t"5,003.0"\t', '\tN/A\t', ''].join('\n'),
    )
    const args = ['--column', 'n', '--number-column', 'c', '--eircode-column', 'e', '--all-columns', '--yes']
    const { text, code } = await run(args)
    expect(text).not.to.contain('no usable number')
    // A refusal of the request decides its row.
    expect(text).not.to.contain('without an answer')
    expect(code).to.equal(0)
    const rows = parse(await readFile(out), { columns: true, delimiter: '\t' }) as Row[]
    expect(rows.map(({ decision, company_number: number, notes }) => [decision, number, notes])).to.deep.equal([
      ['ambiguous', '', 'eircode not read: n/a; no company has the number 685958'],
      ['matched', '73848', 'eircode not read: n/a; company_number not read: 3.358E+05'],
      ['matched', '73848', 'company_number not read: N/A; eircode not read: n/a'],
      ['matched', '73848', 'eircode not read: n/a; company_number not read: IE6388047V'],
      ['conflicting', '', 'eircode not read: n/a'],
      ['ambiguous', '', 'no company has the number 999999'],
      ['matched', '1002', ''],
      ['matched', '5003', ''],
      ['not_bought', '', 'company_number not read: N/A'],
    ])
  })

  it('names the rows that are not in an older review, and reads their numbers after they were copied into it', async () => {
    const [review, other] = ['review.csv', 'other.csv'].map((name) => join(directory, name)) as [string, string]
    const decide = (path: string) => run(['--column', 'name', '--review', path, '--yes'])
    await writeFile(file, 'name\nTwin Fixture\n')
    await decide(review)
    await writeFile(file, 'name\nTwin Fixture\nUnheard Of Holdings\n')
    const waiting = `\n1 row still needs a person: write the numbers into ${review}, and run the same command again.`
    const missing = `\n1 row that needs a person is not in ${review}: run the same command with another --review`
    expect((await decide(review)).text)
      .to.contain(waiting)
      .and.to.contain(missing)
    await decide(other)
    const copied = (await readFile(other, 'utf8')).split('\n').filter((line) => line.includes('Unheard'))
    await writeFile(review, `${await readFile(review, 'utf8')}${copied.join('\n').replace(/,\r?$/, ',none')}\n`)
    const { text } = await decide(review)
    expect(text).to.contain(waiting).and.not.to.contain('not in')
    expect((await readOut()).map(({ decision }) => decision)).to.deep.equal(['ambiguous', 'none'])
  })

  for (const format of ['csv', 'xlsx'])
    it(`writes the rows that need a person to a review, and takes the numbers that are written into it (${format})`, async () => {
      const review = join(directory, `review.${format}`)
      await writeFile(file, 'name,town\nTwin Fixture,x\nPlain Fixture,y\nTwin Fixture,z\nUnheard Of Holdings,\n')
      const args = ['--column', 'name', '--review', review, '--all-columns', '--yes']
      const { text } = await run(args)
      expect(text).to.contain('2 rows need a person: write the numbers into')
      const table = await readTable(review)
      const shown = table.rows.map((row) => [row[1], row[2], row[4], row[7], row[9]])
      expect(shown.slice(0, 4)).to.deep.equal([
        ['name', 'decision', 'candidate_number', 'candidate_address', 'candidate_registered_date'],
        ['Twin Fixture', 'ambiguous', '1004', '4 FIXTURE STREET, SLIGO, Ireland', '2022-02-02'],
        ['Twin Fixture', 'ambiguous', '1005', '4 FIXTURE STREET, SLIGO, Ireland', '2022-02-02'],
        ['Unheard Of Holdings', 'no_match', ...Array.from({ length: 3 }, () => (format === 'xlsx' ? undefined : ''))],
      ])
      const choose = async (number: string | number) => {
        const width = table.rows[0]!.length
        table.rows[1]![width - 1] = number
        await writeTable(review, table.rows, { format: table.format })
      }
      await choose(format === 'xlsx' ? 1005 : 'CRO 1005')
      const kept = await readFile(review)
      // The record of a candidate was paid for.
      let decidedText = ''
      expect(await service.transfersOf(async () => void ({ text: decidedText } = await run(args)))).to.equal(0)
      expect(decidedText).to.contain(`\n1 row still needs a person: write the numbers into ${review}, and run`)
      const decided = (await readOut()).map((row) => [row['decision'], row['company_number'], row['town']].join(' '))
      expect(decided).to.deep.equal(['chosen 1005 x', 'matched 73848 y', 'chosen 1005 z', 'no_match  '])
      expect((await readOut())[0]).to.include({
        why: 'decided by a person',
        notes: 'decided by a person',
        score: '960',
        evidence: 'equal name without its legal form',
        alternative_1_number: '1004',
      })
      expect((await readFile(review)).equals(kept)).to.equal(true)
      expect(await service.transfersOf(() => run(args.slice(0, -1)))).to.equal(0)
      const otherwise = await run([...args.slice(0, -1), '--address-column', 'town'])
      expect(otherwise.text).to.contain(`Numbers in ${review} that belong to no row of the list with these columns: 1.`)
      await choose('None ')
      expect(await service.transfersOf(() => run(args))).to.equal(0)
      const none = { decision: 'none', company_number: '', why: 'decided by a person', alternative_2_number: '1005' }
      expect((await readOut())[2]).to.include(none)
      // The number of a company that is no candidate is looked up.
      await choose('5003')
      expect(await service.transfersOf(() => run(args))).to.equal(1)
      const other = { decision: 'chosen', company_number: '5003', score: '', alternative_2_number: '1005' }
      expect((await readOut())[0]).to.include(other)
      for (const unread of ['nobody', '-5003']) {
        await choose(unread)
        const fault = `chosen_number of row 2 is "'?${unread}"\\. Write the number of one company, or none`
        expect((await run(args)).stderr).to.match(new RegExp(fault))
      }
      // What a person writes beside both candidates of a row.
      for (const [first, second, number] of [
        ['none', '1005', '1005'],
        ['1004', 'none', '1004'],
      ] as const) {
        table.rows[2]![table.rows[0]!.length - 1] = second
        await choose(first)
        expect(await service.transfersOf(() => run(args))).to.equal(0)
        expect((await readOut())[0]).to.include({ decision: 'chosen', company_number: number })
      }
      table.rows[2]![table.rows[0]!.length - 1] = '1004'
      await choose('1005')
      expect((await run(args)).stderr).to.contain(
        'chosen_number of row 3 is 1004, and 1005 was chosen above for the same row of the list. Leave one',
      )
    })

  it('buys 300 rows with a column of VAT numbers once, in two encodings, and over an interruption', async () => {
    const names = Array.from(
      { length: 300 },
      (_, index) => `Numbered Fixture ${(index % 25) + 1}${index < 25 ? '' : ` é${index}`}`,
    )
    const text = ['name;VAT', ...names.map((name, index) => `${name};IE${6000000 + index}V`), ''].join('\r\n')
    const args = ['--column', 'name', '--number-column', 'VAT', '--out', out, '--all-columns', '--batch', '--yes']
    const controller = new AbortController()
    const interruptAtFirst = onPayment((send) => (controller.abort(), send()))
    const paid = await service.transfersOf(async () => {
      await writeFile(file, text)
      const stopped = await run(args, { fetch: interruptAtFirst, interrupted: () => controller.signal })
      expect(stopped.code).to.equal(4)
      expect(stopped.stderr).to.match(
        /^Stopping\. Please wait for the sum of the payments\. The same command continues, and pays nothing twice\.\nInterrupted\. Paid: (0\.\d\d) USDC, in all runs \1 USDC\. \d payments?, \S+ USDC, without an answer\. Not known .* The same command continues, and pays nothing twice\.\n$/,
      )
      const warned = stopped.text.indexOf('300 of 300 rows have no usable number in the column VAT.')
      expect(warned).to.be.within(0, stopped.text.indexOf('At most'))
      for (const bytes of [Buffer.from(text), Buffer.from(`sep=;\r\n${text}`, 'latin1')]) {
        await writeFile(file, bytes)
        expect((await run(args)).text).to.contain('300 of 300 rows have no usable number in the column VAT.')
        const rows = parse(await readFile(out), { columns: true, bom: true, delimiter: ';' }) as Row[]
        expect(rows[2]).to.include({ decision: 'matched', company_number: '5003' })
        expect(rows.map(({ name }) => name)).to.deep.equal(names)
        const notes = new Set(rows.map((row) => row['notes']?.replace(/\d+/, '')))
        expect([...notes]).to.deep.equal(['company_number not read: IEV'])
      }
    })
    expect([paid, (await purchases()).length]).to.deep.equal([12, 12])
  })

  it('[15.16] replaces only its own output, as it was written', async () => {
    await writeFile(file, 'name\nPlain Fixture\n')
    const args = ['--column', 'name', '--yes']
    await writeFile(out, 'notes of a person\n')
    const refusalOf = async (...more: string[]) => {
      const { code, stderr } = await run([...args, ...more])
      return [code, stderr.replaceAll(directory, 'DIR').split('. ', 1).join()]
    }
    await service.transfersOf(async () => {
      expect(await refusalOf()).to.deep.equal([2, 'error: DIR/list.reconciled.csv is not an output of DIR/list.csv'])
    })
    expect(await readFile(out, 'utf8')).to.equal('notes of a person\n')
    expect(await purchases()).to.deep.equal([])
    expect((await run([...args, '--force'])).code).to.equal(0)
    // Another list with the same output, and the same list with other rows.
    const other = join(directory, 'other.csv')
    await writeFile(other, 'name\nPlain Fixture\n')
    const ofOther = await runCommand([...client(), 'reconcile', other, ...args, '--out', out])
    expect([ofOther.code, ofOther.stderr]).to.deep.equal([
      2,
      `error: ${out} is not an output of ${other}. Name another --out, or add --force to replace it (add --help for usage)\n`,
    ])
    await writeFile(file, 'name\nPlain Fixture\nTwin Fixture\n')
    expect((await run(args)).code).to.equal(0)
    const written = await readFile(out)
    // The process can die after the digest is on disk and before the file is replaced.
    await run([...args, '--all-columns'])
    await writeFile(out, written)
    expect((await run(args)).code).to.equal(0)
    await writeFile(out, `${String(written)}decided,by,hand\n`)
    expect(await refusalOf()).to.deep.equal([2, 'error: DIR/list.reconciled.csv was changed since it was written'])
    expect(await readFile(out, 'utf8')).to.contain('decided,by,hand')
    expect((await run([...args, '--dry-run'])).code).to.equal(0)
    const kept = ['--out', join(directory, 'again.csv'), '--purchases', `${out}.purchases`]
    expect((await run(args)).stderr).to.contain(kept.slice(2).join(' '))
    expect(await service.transfersOf(() => run([...args, ...kept]))).to.equal(0)
    expect(await readFile(kept[1]!)).to.deep.equal(written)
  })

  it('[15.16] keeps an output that a person changes during the run, and writes the list when it is moved', async () => {
    const args = ['--column', 'name', '--yes']
    await writeFile(file, 'name\nPlain Fixture\n')
    expect((await run(args)).code).to.equal(0)
    await writeFile(file, 'name\nPlain Fixture\nTwin Fixture\n')
    const changing = onPayment(async (send) => {
      await writeFile(out, 'decided by hand\n')
      return send()
    })
    const paid = await service.transfersOf(async () => {
      const { code, stderr } = await run(args, { fetch: changing })
      expect([code, stderr.replaceAll(directory, 'DIR')].join()).to.match(
        /^1,DIR\/list\.reconciled\.csv has changed during the run, and was not replaced\. Move it, and run the same command again/,
      )
      expect(await readFile(out, 'utf8')).to.equal('decided by hand\n')
      await rm(out)
      expect((await run(args)).code).to.equal(0)
    })
    expect([paid, (await readOut()).map(({ decision }) => decision)]).to.deep.equal([1, ['matched', 'ambiguous']])
  })

  it('reads stdin and writes stdout, which has nothing else', async () => {
    const folder = join(directory, 'bought')
    const args = ['--column', 'name', '--purchases', folder, '--yes']
    const stdin = () => Readable.from([Buffer.from('name;no'), Buffer.from('te\nPlain Fixture;-12.5\n')])
    const paid = await service.transfersOf(async () => {
      for (const from of ['-', file]) {
        await writeFile(file, 'name;note\nPlain Fixture;-12.5\n')
        const { code, lines, bytes, stderr } = await runCommand(
          [...client(), 'reconcile', from, ...args, '--out', '-'],
          { stdin: stdin() },
        )
        expect([code, lines]).to.deep.equal([0, []])
        expect(bytes.toString().split('\n')[1]).to.match(/^Plain Fixture;-12\.5;matched;73848;"PLAIN FIXTURE LIMITED";/)
        expect(bytes.toString()).to.match(/bought\/[0-9a-f]{64}-0\.json/)
        expect(stderr).to.contain('\n1 row: 1 matched\n')
      }
    })
    expect(paid).to.equal(1)
    const sheet = join(directory, 'list.xlsx')
    await runCommand([...client(), 'reconcile', '-', ...args, '--out', sheet], { stdin: stdin() })
    const { rows } = await readTable(sheet)
    const [[, note] = [], [, value, decision, number, , , , , date] = []] = rows
    expect([note, value, decision, number]).to.deep.equal(['note', -12.5, 'matched', '73848'])
    expect(date).to.be.instanceOf(Date)
  })

  it('writes the rows that are paid if the run ends early, and marks the others', async () => {
    const names = Array.from({ length: 12 }, (_, at) => `Numbered Fixture ${at + 1}`)
    await writeFile(file, ['name', 'Twin Fixture', ...names, ''].join('\n'))
    const args = ['--column', 'name', '--yes']
    const refusing = onPayment((send, _, body) =>
      /Fixture (?:3|12)"/.test(body) ? Response.json({ error: { code: 'payment_rejected' } }, { status: 402 }) : send(),
    )
    const refused = await run(args, { fetch: refusing })
    expect(refused.code).to.equal(6)
    expect(refused.text).to.contain(`The rows that are paid are in ${out}. The others have the decision not_bought.`)
    expect(refused.text).to.match(/^Paid: 0\.\d+ USDC, in all runs 0\.\d+ USDC\.$/m)
    const shown = (await readOut()).map(({ decision, company_number: number, why }) => [decision, number, why].join())
    // Ten rows are bought at once.
    expect(shown.slice(1)).to.deep.equal(
      names.map((_, at) =>
        at > 8
          ? 'not_bought,,the run ended before this row'
          : at === 2
            ? 'payment_open,,a payment without an answer'
            : `matched,${5001 + at},equal name without its legal form`,
      ),
    )
    expect(shown[0]).to.match(/^ambiguous,/)
    const nothing = await run([...args, '--out', `${out}.csv`], { fetch: onPayment(() => Response.error()) })
    expect([nothing.code, existsSync(`${out}.csv`)]).to.deep.equal([4, false])
    await expirePayments(service.buyerKey)
    await run(args)
    expect((await readOut()).map(({ decision }) => decision)).to.deep.equal([
      'ambiguous',
      ...names.map(() => 'matched'),
    ])
  })

  it('writes the paid rows and ends after two attempts if the service cannot be reached', async () => {
    await writeFile(file, 'name\nPlain Fixture\nTwin Fixture\n')
    expect((await run(['--column', 'name', '--yes'])).code).to.equal(0)
    const written = await readFile(out)
    let pauses = 0
    const stopped = await run(['--column', 'name', '--yes'], {
      fetch: () => Promise.reject(new Error('ECONNREFUSED')),
      sleep: async () => void (pauses += 1),
    })
    expect([stopped.code, pauses]).to.deep.equal([1, 2])
    expect(stopped.stderr).to.contain('cannot be read to check the receipts. Start the service, or check --url.')
    expect(await readFile(out)).to.deep.equal(written)
  })

  describe('signs nothing', () => {
    const twin = 'name\nTwin Fixture\n'

    it('[14.5] with --dry-run, which says the price, or without the column, and proposes the row of the header', async () => {
      await writeFile(file, `Suppliers\n\n${twin}`)
      const args = ['--column', 'name', '--dry-run']
      expect(await run(args)).to.include({
        code: 2,
        stderr:
          'error: The file has no column name. Its columns are: Suppliers. Row 3 has them: add --header-row 3 ' +
          '(add --help for usage)\n',
      })
      const { code, text } = await run([...args, '--header-row', '3'])
      expect([code, text]).to.deep.equal([
        0,
        'Columns: name = name.\n1 row: 1 to buy.\nAt most 0.002 USDC will be paid on eip155:84532.',
      ])
      expect(await purchases()).to.deep.equal([])
    })

    it('[15.14] for a doubtful header, with exit status 2, unless a person or an option decides', async () => {
      await writeFile(file, 'Gamma Sample Company\nPlain Fixture Ltd\nTwin Fixture Limited\n')
      const args = ['--column', '1', '--dry-run']
      const { code, stderr } = await run(args)
      expect([code, stderr]).to.deep.equal([
        2,
        'error: Row 1 is perhaps a header: Gamma Sample Company. Add --header-row 1 or --no-header (add --help for usage)\n',
      ])
      const rowsOf = async (more: string[], change: Partial<CliContext> = {}) =>
        /^\d+(?= rows?[,:])/m.exec((await run([...args, ...more], change)).text)?.[0]
      expect(await rowsOf([], { confirm: async () => true })).to.equal('2')
      expect(await rowsOf([], { confirm: async () => false })).to.equal('3')
      expect(await rowsOf(['--header-row', '1'])).to.equal('2')
      expect(await rowsOf(['--no-header'])).to.equal('3')
      await writeFile(file, 'Gamma Sample Finance Designated Activity Company\nPlain Fixture Ltd\n')
      expect(await rowsOf([])).to.equal('2')
    })

    it('[15.14] without a column of names or numbers, with exit status 2, and takes one that is named', async () => {
      await writeFile(file, 'First Name,Surname,Remark\nPlain,Fixture,7\n')
      const { code, stderr } = await run(['--dry-run'])
      expect([code, stderr]).to.deep.equal([
        2,
        'error: No column of names or of company numbers is certain. Name one with --column or --number-column. ' +
          'Its columns are: First Name | Surname | Remark (add --help for usage)\n',
      ])
      expect((await run(['--dry-run', '--column', 'Surname'])).text).to.contain('Columns: name = Surname.')
    })

    it('[15.14] for numbers below a heading of any number, and says how to read them', async () => {
      await writeFile(file, 'Name,Company ID\nPlain Fixture,73848\nTwin Fixture,1004\nAleo Fixture,15003\n')
      const told = 'The column Company ID is not read. If it has company numbers, add --number-column 2.'
      expect((await run(['--dry-run'])).lines).to.include(told)
      expect((await run(['--dry-run', '--number-column', '2'])).text).not.to.contain('not read')
      await writeFile(file, 'Plain Fixture Ltd,73848\nTwin Fixture Ltd,10040\n')
      const untitled = await run(['--dry-run', '--no-header'])
      expect(untitled.lines).to.include('Column 2 is not read. If it has company numbers, add --number-column 2.')
      await writeFile(file, 'Plain Fixture Ltd,IE6388047V\n')
      const unusable = await run(['--dry-run', '--no-header', '--number-column', '2'])
      expect(unusable.lines).to.include('1 of 1 row has no usable number in column 2.')
      expect((await run(['--dry-run', '--number-column', 'none'])).text).not.to.contain('not read')
    })

    it('[15.14] for a text in a doubtful encoding, with exit status 2, unless a person accepts it or names another', async () => {
      await writeFile(file, Buffer.from('name\nCaf\x82 Sol\n', 'latin1'))
      const args = ['--column', 'name', '--dry-run']
      const { code, stderr } = await run(args)
      expect(code).to.equal(2)
      expect(stderr).to.match(
        /^error: \S+ is perhaps not in Windows-1252, .*"Caf‚"\. Name the encoding with --encoding/,
      )
      expect((await run(args, { confirm: async () => true })).code).to.equal(0)
      expect((await run([...args, '--encoding', 'cp850'])).code).to.equal(0)
    })
  })

  it('asks with the highest cost, and counts rows of earlier runs in --max-total', async () => {
    await writeFile(file, 'name\nTwin Fixture\n')
    const questions: string[] = []
    const confirm = async (question: string) => questions.push(question) > 0
    const first = await run(['--column', 'name', '--max-total', '0.002'], { confirm })
    expect(first.lines).to.include('At most 0.002 USDC will be paid on eip155:84532.')
    expect([first.code, questions.length]).to.deep.equal([0, 1])
    expect(first.lines.at(-1)).to.match(/^Paid in \d+ s: 0\.002 USDC, in all runs 0\.002 USDC\.$/)
    await writeFile(file, 'name\nPlain Fixture\n')
    const second = await run(['--column', 'name', '--max-total', '0.002'], { confirm })
    expect(second.stderr).to.match(/can cost 0.004 USDC, and --max-total is 0.002/)
  })

  describe('--batch', () => {
    const batched = ['--column', 'Supplier', '--yes', '--batch']
    const numbered = ['--column', 'name', '--number-column', 'number', '--yes', '--batch']
    const withoutReceipts = (rows: Row[]) => rows.map((row) => ({ ...row, receipt: undefined }))

    it('pays once for the rows of single purchases, after a notice, and for no row twice if the list or the option changes', async () => {
      await writeFile(file, LIST)
      const single = join(directory, 'single.csv')
      await run(['--column', 'Supplier', '--yes', '--out', single])
      const rows = parse(await readFile(single), { columns: true, bom: true }) as Row[]
      let lines: string[] = []
      expect(await service.transfersOf(async () => ({ lines } = await run(batched)))).to.equal(1)
      expect(lines.join()).to.contain('missing or quarantined are charged')
      expect(withoutReceipts(await readOut())).to.deep.equal(withoutReceipts(rows))
      await writeFile(file, `${LIST}8,Numbered Fixture 1,\n`)
      expect(await service.transfersOf(() => run(['--column', 'Supplier', '--yes']))).to.equal(1)
      const text = await readFile(out)
      expect(await service.transfersOf(() => run(batched))).to.equal(0)
      expect((await readFile(out)).equals(text)).to.equal(true)
      await writeFile(file, `${LIST}8,Numbered Fixture 1,\n9,Numbered Fixture 2,\n`)
      expect(await service.transfersOf(() => run(batched))).to.equal(1)
    })

    it('asks row by row if a batch is refused, and never sends its payment again', async () => {
      await writeFile(file, 'name,number\n,73848\n,999999\n')
      const sent: string[] = []
      const refuse = onPayment((send, input) => {
        const path = new URL(input).pathname
        sent.push(path)
        return path.endsWith('/batch') ? Response.json({ error: { code: 'query_too_broad' } }, { status: 400 }) : send()
      })
      await run(numbered, { fetch: refuse })
      expect((await readOut()).map(({ decision }) => decision).join()).to.equal('query_too_broad,query_too_broad')
      expect(await service.transfersOf(() => run(numbered, { fetch: refuse }))).to.equal(1)
      expect((await readOut()).map(({ decision }) => decision).join()).to.equal('matched,company_not_found')
      const [batch, ...rows] = sent
      expect([batch, rows.toSorted()]).to.deep.equal([
        '/api/v1/batch',
        ['/api/v1/company/73848', '/api/v1/company/999999'],
      ])
    })

    it('asks for no row again if no row of its batch has a record', async () => {
      await writeFile(file, 'name,number\n,999998\n,999999\n')
      const sent: string[] = []
      const record = onPayment((send, input) => (sent.push(new URL(input).pathname), send()))
      for (const _ of ['first run', 'second run']) {
        expect(await service.transfersOf(() => run(numbered, { fetch: record }))).to.equal(0)
        const shown = (await readOut()).map(({ decision, receipt }) => [decision, receipt])
        expect(shown).to.deep.equal([
          ['company_not_found', ''],
          ['company_not_found', ''],
        ])
      }
      expect(sent).to.deep.equal(['/api/v1/batch'])
    })
  })

  for (const args of [[], ['--batch']])
    it(`states that the outcome is unknown, and pays once when the service answers again, ${args.join('')}`, async () => {
      await writeFile(file, 'name\nPlain Fixture\n')
      const loseAnswers = onPayment(async (send) => send().then(() => Promise.reject(new TypeError('fetch failed'))))
      const command = ['--column', 'name', '--yes', ...args]
      const paid = await service.transfersOf(async () => {
        const lost = await run(command, { fetch: loseAnswers })
        expect(lost.code).to.equal(4)
        expect(lost.stderr).to.contain('The same command continues, and pays nothing twice.')
        expect(lost.stderr).to.not.contain('--retry')
        expect((await run(command)).code).to.equal(0)
      })
      expect(paid).to.equal(1)
    })

  it('ends with the payment that is known last, and does not say that nothing was charged', async () => {
    await writeFile(file, 'name\nPlain Fixture\nTwin Fixture\nTax Fixture\n')
    const answering = onPayment((send, _, body) => {
      if (body.includes('Plain')) return Response.json({ error: { code: 'payment_rejected' } }, { status: 402 })
      return body.includes('Twin') ? Response.error() : send()
    })
    expect((await run(['--column', 'name', '--yes'], { fetch: answering })).code).to.equal(4)
    const rejecting = { fetch: () => Promise.reject(new TypeError('fetch failed')) }
    const { code, stderr } = await run(['--column', 'name', '--yes', '--out', `${out}.csv`], rejecting)
    expect(code).to.equal(1)
    expect(stderr).to.contain('pays nothing twice').and.not.contain('charged')
  })

  it('ends at a refused payment with its reason, and replaces it after it has expired', async () => {
    const emptyKey = generatePrivateKey()
    await writeFile(join(directory, 'buyer.key'), emptyKey, { mode: 0o600 })
    await writeFile(file, 'name\nPlain Fixture\n')
    const refused = await run(['--column', 'name', '--yes'])
    expect(refused.code).to.equal(6)
    const { address } = privateKeyToAccount(emptyKey)
    expect(refused.stderr).to.contain(`insufficient_funds: ${address} on eip155:84532 has 0.00 USDC`)
    await writeFile(join(directory, 'buyer.key'), service.buyerKey, { mode: 0o600 })
    const again = await run(['--column', 'name'])
    expect(again.code).to.equal(6)
    expect(again.text).to.contain('1 row: 1 open.\nNo new payment is needed.')
    expect(again.text).to.contain(
      'Besides, open payments of 0.002 USDC, to which you agreed in an earlier run, are sent again.',
    )
    await expirePayments(emptyKey)
    const asked = await run(['--column', 'name'])
    expect(asked.text).to.contain('1 row: 1 to buy.\nAt most 0.002 USDC will be paid')
    expect(asked.stderr).to.contain('Nothing was signed')
    expect(await service.transfersOf(() => run(['--column', 'name', '--yes']))).to.equal(1)
    expect((await readOut())[0]).to.include({ company_number: '73848' })
  })
})
