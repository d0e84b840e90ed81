/** Wrong input of the commands that buy: the message, the exit status, and that nothing is spent. */
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { runCommand } from '../support/cli.ts'
import { startTestService } from '../support/service.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { useService } from '../support/use-service.ts'

const LIST = ['reconcile', 'DIR/list.csv', '--column', 'name']
const WATCH = ['watch', 'DIR/list.csv', '--column', 'number', '--state', 'DIR/state.json', '--max-total', '1.00']
const NUMBER_RULE = 'must be 1 to 20 ASCII digits'

/** `DIR` stands for the directory of the test. */
const WRONG: [args: string[], status: number, message: RegExp][] = [
  [['lookup'], 2, /missing required argument 'number'/],
  [['lookup', '12a'], 2, RegExp(`company_number "12a" ${NUMBER_RULE}; the command search finds names`)],
  [['lookup', ''], 2, RegExp(`company_number "" ${NUMBER_RULE}`)],
  [['lookup', '1'.repeat(21)], 2, RegExp(`company_number "1{21}" ${NUMBER_RULE}`)],
  [['lookup', '-1001'], 2, RegExp(`company_number "-1001" ${NUMBER_RULE}`)],
  [['lookup', '\u2212 1001'], 2, RegExp(`company_number "\u2212 1001" ${NUMBER_RULE}`)],
  [['resolve', '--number', '-1001'], 2, RegExp(`company_number "-1001" ${NUMBER_RULE}`)],
  [['lookup', '1', '2'], 2, /too many arguments/],
  [['lokup', '1'], 2, /unknown command 'lokup' \(Did you mean lookup\?\)/],
  [['lookup', '1', '--nam', 'x'], 2, /unknown option '--nam'/],
  [['lookup', '1', '--max-amount', '5'], 2, /'5' is invalid\. It must be USDC .* write 5\.00/],
  [['lookup', '1', '--max-amount', '50000'], 2, /write 50000\.00/],
  [['lookup', '1', '--max-amount', '0.00'], 2, /'0\.00' is invalid.* such as 0\.05/],
  [['lookup', '1', '--max-amount', '-1.00'], 2, /'-1\.00' is invalid/],
  [['lookup', '1', '--max-amount', '0.0000001'], 2, /at most six decimals/],
  [['lookup', '1', '--max-amount', '0,05'], 2, /'0,05' is invalid/],
  [['lookup', '1', '--max-amount', '1e3'], 2, /'1e3' is invalid/],
  [['lookup', '1', '--max-per-day', '1'], 2, /write 1\.00/],
  [['lookup', '1', '--mode', 'prod'], 2, /'prod' is invalid\. Allowed choices are testnet, mainnet/],
  [['lookup', '1', '--url', 'companies.example'], 2, /'companies\.example' is invalid/],
  [['lookup', '1', '--url', 'http://127.0.0.1:1/api'], 2, /a host, with nothing after it/],
  [['lookup', '1', '--url', 'http://127.0.0.1:1'], 1, /Cannot reach http:\/\/127\.0\.0\.1:1\. .*check --url/],
  [['lookup', '1', '--rpc', 'node'], 2, /'node' is invalid\. It must be an http or https URL/],
  [['lookup', '1', '--a2a-url', 'ftp://x'], 2, /'ftp:\/\/x' is invalid/],
  [['lookup', '1', '--key-file', 'DIR/none.key'], 1, /The key file DIR\/none\.key does not exist/],
  [['lookup', '1', '--key-file', 'DIR/open.key'], 1, /open\.key .*run chmod 600/],
  [['lookup', '1', '--key-file', 'DIR'], 1, /DIR is a directory: name the key file/],
  [['lookup', '1', '--key-file', 'DIR/no.key'], 1, /must hold a private key: 0x and 64 hex digits/],
  [['lookup', '1', '--new-payment'], 1, /There is none, and nothing was signed/],
  [['lookup', '1', '--max-amount', '0.000001'], 1, /above the limit of 0\.000001 USDC\. Nothing was signed/],
  [['lookup', '1', '--mode', 'mainnet'], 1, /unexpected network, asset, token\. Nothing was signed\. Check --url and/],
  [['search', 'ab'], 2, /q "ab" must have 3 to 160 characters/],
  [['search', 'sample', '--limit', '11'], 2, /limit "11" must be a whole number from 1 to 10/],
  [['search', 'sample', '--limit', 'x'], 2, /limit "x" must be a whole number from 1 to 10/],
  [['search', 'sample', '--eircode', 'x'], 2, /eircode "x" must/],
  [['resolve'], 2, /^error: name or company_number is required/],
  [['as-of', '1', 'yesterday'], 2, /date "yesterday" must/],
  [['as-of', '1', '2026-02-30'], 2, /date "2026-02-30" must/],
  [['changes'], 2, /required option '--since <value>' not specified/],
  [['changes', '--since', '2026-01-01', '--kind', 'new'], 2, /'new' is invalid\. Allowed choices are added, removed/],
  [['changes', '--since', '2026-01-01', '--field', 'nam'], 2, /'nam' is invalid\. Allowed choices are legal_name/],
  [['changes', '--since', '2026-02-01', '--until', '2026-01-01'], 2, /^error: until must not be before since/],
  [['batch', 'DIR/none.json'], 1, /DIR\/none\.json does not exist/],
  [['batch', 'DIR/list.csv'], 2, /list\.csv has no JSON object/],
  [['--retry', 'DIR/none.json'], 1, /DIR\/none\.json does not exist/],
  [['--retry', 'DIR'], 2, /DIR \(EISDIR\)\. Nothing was sent\. Name another file or folder\./],
  [['--retry', 'DIR/open.key'], 2, /is a key file, not a purchase/],
  [['--retry', 'DIR/x.json', 'lookup', '1'], 2, /'--retry' takes no command/],
  [['reconcile', 'DIR/none.csv', '--column', 'name'], 1, /DIR\/none\.csv does not exist/],
  [['reconcile', 'DIR/list.csv', '--column', 'nam'], 2, /The file has no column nam\. Its columns are: name \| number/],
  [[...LIST, '--out', 'DIR/out.pdf'], 2, /out\.pdf' is invalid\. Its name must end with one of/],
  [
    [...LIST, '--max-total', '0.001', '--yes'],
    1,
    /can cost 0\.002 USDC, and --max-total is 0\.001\. Nothing was signed\. Raise --max-total/,
  ],
  [
    [...LIST, '--out', 'DIR/none/out.csv'],
    2,
    /'--out' names DIR\/none\/out\.csv, which is in a folder that does not exist/,
  ],
  [[...LIST, '--out', '/dev/stdout'], 2, /'--out' names \/dev\/stdout, which is a device or a link/],
  [[...LIST, '--out', 'DIR/open.key', '--force'], 2, /open\.key' is invalid\. Its name must end with one of/],
  [[...LIST, '--out', 'DIR/other.csv'], 2, /other\.csv is not an output of DIR\/list\.csv\. .* add --force/],
  [[...LIST, '--review', 'DIR/none/review.csv'], 2, /'--review' names .* a folder that does not exist/],
  [[...LIST, '--review', 'DIR/review.json'], 2, /review\.json' is invalid\. A review cannot be JSON/],
  [[...WATCH, '--report', 'DIR/report.xlsx'], 1, /Nothing was signed/],
  [[...WATCH, '--report', 'DIR/none/report.csv'], 2, /'--report' names .* a folder that does not exist/],
  [[...LIST, '--out', '-'], 2, /'--purchases' is required if stdout is the output/],
  [['reconcile', '-', ...LIST.slice(2)], 2, /'--purchases' is required if stdout is the output/],
  [[...LIST, '--out', '-', '--purchases', 'DIR/p', '--json'], 2, /'--json' cannot be used if stdout is the output/],
  [['reconcile', '-', ...LIST.slice(2), '--purchases', 'DIR/p'], 1, /- has no rows/],
  [[...LIST, '--new-payment'], 2, /'--new-payment' cannot be used with a list/],
  [LIST, 1, /Nothing was signed\. To pay without a question, add --yes/],
  [WATCH, 1, /Nothing was signed\. To pay without a question, add --yes/],
  [
    [...WATCH.slice(0, -1), '0.001', '--yes'],
    1,
    /cost at least 0\.002 USDC, .* leaves 0\.001: run again with a higher/,
  ],
  [WATCH.slice(0, -2), 2, /required option '--max-total <usdc>' not specified/],
]

describe('wrong input of the commands that buy', () => {
  const { service } = useService(() => startTestService())
  let directory: string
  beforeEach(async () => {
    directory = await makeTemporaryDirectory()
    await mkdir(join(directory, 'sandbox'))
    await writeFile(join(directory, 'sandbox', 'buyer.key'), service.buyerKey, { mode: 0o600 })
    await writeFile(join(directory, 'open.key'), service.buyerKey, { mode: 0o644 })
    await writeFile(join(directory, 'no.key'), 'x', { mode: 0o600 })
    await writeFile(join(directory, 'list.csv'), 'name,number\nPlain Fixture,1001\n')
    await writeFile(join(directory, 'other.csv'), 'notes of a person\n')
  })

  const run = (args: readonly string[]) => {
    const placed = args.map((each) => each.replace(/^DIR/, directory))
    const environment = { DATA_DIR: directory, BASE_URL: service.url }
    return runCommand(['client', ...placed], { environment })
  }

  for (const [args, status, message] of WRONG)
    it(`[14.5, 14.18] exits with ${status} and a line that says what is wrong: ${args.join(' ')}`, async () => {
      const sent = await service.transfersOf(async () => {
        const { code, stderr } = await run(args)
        const lines = stderr.trimEnd().replaceAll(directory, 'DIR').split('\n')
        expect(lines.at(-1)).to.match(message)
        expect(code).to.equal(status)
      })
      expect(sent).to.equal(0)
      expect(existsSync(join(directory, 'purchases'))).to.equal(false)
    })

  for (const args of [['lookup', '12a'], ['lookup', '1', '--max-amount', '5'], ['lookup', '1', '--new-payment'], ['x']])
    it(`[15.6] is one document with --json: ${args.join(' ')}`, async () => {
      const { text } = await run([...args, '--json'])
      const { error } = JSON.parse(text) as { error: { code: string; message: string } }
      expect(error.code).to.match(/^[a-z_]+$/)
      expect(error.message).to.match(/^[^\n]{10,}$/)
    })

  it('says how to learn which days are covered', async () => {
    const { stderr } = await run(['as-of', '1001', '2010-01-01'])
    expect(stderr).to.contain('Ask for a covered day: history says since when.')
  })
})
