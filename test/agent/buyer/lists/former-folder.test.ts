/** What an earlier version has made in its sandbox: folders, reviews and states open, and nothing is bought again. */
import { cp, readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { parse } from 'csv-parse/sync'
import { generatePrivateKey } from 'viem/accounts'
import { SYNTHETIC_PROVENANCE } from '../../../../store/dataset/synthetic.ts'
import { runCommand } from '../../../support/cli.ts'
import { makeTemporaryDirectory } from '../../../support/temporary-directory.ts'

const FIXTURES = join(fileURLToPath(import.meta.resolve('#root/package.json')), '../test/fixtures/former-buyer')
/** The sandbox in which the earlier version bought. */
const URL_BEFORE = 'http://127.0.0.1:45991'

describe('what an earlier version of the buyer has bought', () => {
  let directory: string
  /** The requests for anything but the key set. */
  let asked: string[]
  beforeEach(async () => {
    asked = []
    directory = await makeTemporaryDirectory()
    await cp(FIXTURES, directory, { recursive: true })
    await writeFile(join(directory, 'buyer.key'), generatePrivateKey(), { mode: 0o600 })
  })

  const path = (name: string) => join(directory, name)
  const keys: typeof fetch = async (input) => {
    const { url } = new Request(input)
    if (url.endsWith('/.well-known/jwks.json')) return new Response(await readFile(path('jwks.json')))
    asked.push(url)
    throw new TypeError('fetch failed')
  }
  const OFFLINE = { fetch: keys, sleep: async () => undefined }
  const client = (args: string[], change: { fetch: typeof fetch } = OFFLINE) =>
    runCommand(['client', '--url', URL_BEFORE, '--key-file', path('buyer.key'), ...args], change)

  for (const [name, options, decisions] of [
    ['single', [], ['matched 100001', 'matched 100001', 'matched 100002']],
    ['batch', ['--batch', '--review', 'review.csv'], ['matched 100003', 'chosen 100018']],
  ] as const)
    it(`[15.11] is found in a list and never bought again (${name})`, async () => {
      const columns = ['--column', 'name', '--number-column', 'number', '--out', path(`${name}-out.csv`)]
      const review = options.map((option) => (option.endsWith('.csv') ? path(option) : option))
      const { code, text, stderr } = await client(['reconcile', path(`${name}.csv`), ...columns, ...review])
      expect([code, asked], stderr).to.deep.equal([0, []])
      expect(text).to.contain('At most 0 USDC will be paid')
      const rows = parse(await readFile(path(`${name}-out.csv`)), { columns: true, bom: true })
      expect(
        (rows as Record<string, string>[]).map((row) => `${row['decision']} ${row['company_number']}`),
      ).to.deep.equal(decisions)
    })

  it('[14.5] is listed, and repeated with --retry, over REST and A2A', async () => {
    const { lines } = await client(['purchases', path('purchases')])
    expect(lines.slice(1).map((line) => line.split(/ {2,}/).slice(1, 4).join(' '))).to.deep.equal([
      'lookup 0.001 USDC paid',
      'lookup 0.001 USDC paid',
    ])
    for (const name of await readdir(path('purchases'))) {
      const { stderr } = await runCommand(['client', '--retry', path(`purchases/${name}`)], OFFLINE)
      expect(stderr).to.contain('repeating').and.to.contain('No answer to the payment arrived')
    }
    expect(asked.map((url) => new URL(url).pathname)).to.include.members(['/api/v1/company/100001', '/a2a'])
  })

  it('[15.13] is the state of watched companies', async () => {
    const watch = ['watch', path('watch.csv'), '--column', 'Number', '--state', path('watch.json'), '--max-total', '1']
    const meta = async () => {
      const { snapshot_id } = JSON.parse(await readFile(path('watch.json'), 'utf8')) as { snapshot_id: string }
      return Response.json({ snapshot_id, source: SYNTHETIC_PROVENANCE.source })
    }
    const { lines } = await client([...watch, '--report', path('report.json')], { fetch: meta })
    expect(lines.slice(-2)).to.deep.equal(['Paid: 0 USDC.', '1 companies, 0 changed'])
    expect(await readFile(path('report.json'), 'utf8')).to.contain('ALPHA SAMPLE TRADING LIMITED')
  })
})
