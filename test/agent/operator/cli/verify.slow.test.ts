/** The command `verify` with purchases from the real service: each check, its output and its exit status. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { expect } from 'chai'
import { decodePaymentResponseHeader } from '@x402/core/http'
import { SYNTHETIC_COMPANY } from '../../../../store/dataset/synthetic.ts'
import { checkDataset } from '../../../../agent/operator/cli/verify-checks.ts'
import { buyIntoFile, RUNTIME } from '../../../../agent/buyer/library/buy.ts'
import { fileEntry } from '../../../../agent/buyer/library/folder-storage.ts'
import { readPurchase, writePurchase, type Purchase } from '../../../../agent/buyer/library/purchase-file.ts'
import { a2aRequest, type PurchaseRequest } from '../../../../agent/buyer/library/purchase-request.ts'
import { runCommand } from '../../../support/cli.ts'
import { REGISTER } from '../../../support/fixtures.ts'
import { recordArchive } from '../../../support/journal.ts'
import { startTestService, type TestService } from '../../../support/service.ts'
import { claimsFor, keySetOf, makeReceiptKey, receiptFor } from '../../../support/signed-receipt.ts'
import { makeTemporaryDirectory } from '../../../support/temporary-directory.ts'
import { parseNamed } from '../../../support/operations.ts'

const noNetwork: typeof fetch = () => Promise.reject(new TypeError('fetch failed'))

describe('[5.9.5] the command verify', function () {
  this.timeout(240_000)
  let service: TestService
  let directory: string
  let jwks: string

  before(async () => {
    service = await startTestService()
    directory = await makeTemporaryDirectory()
    jwks = join(directory, 'jwks.json')
    const text = await (await fetch(`${service.url}/.well-known/jwks.json`)).text()
    await writeFile(jwks, text)
  })
  after(() => service.stop())

  const pathOf = (name: string) => join(directory, `${name}.json`)

  const buy = (name: string, path: string, body: string | null = null) => {
    const headers: Record<string, string> = body === null ? {} : { 'Content-Type': 'application/json' }
    return buyAny(name, { method: body === null ? 'GET' : 'POST', url: `${service.url}${path}`, headers, body })
  }
  const buyAny = (name: string, request: PurchaseRequest) =>
    buyIntoFile({
      request,
      entry: fileEntry(pathOf(name)),
      key: service.buyerKey,
      approve: () => undefined,
      runtime: RUNTIME,
    })
  const verify = (...args: string[]) => runCommand(['verify', ...args])
  const verifyOffline = (...args: string[]) => runCommand(['verify', ...args, '--jwks', jwks], { fetch: noNetwork })
  const failedIn = ({ lines }: { lines: string[] }) => lines.flatMap((line) => /^(\S+) +FAILED/.exec(line)?.[1] ?? [])

  /** Saves a changed copy of a purchase. */
  async function change(name: string, by: (purchase: Purchase) => Purchase): Promise<string> {
    const purchase = await readPurchase(fileEntry(pathOf(name)))
    const path = pathOf('changed')
    await writePurchase(fileEntry(path), by(structuredClone(purchase)))
    return path
  }
  const withAnswer = (answer: Partial<NonNullable<Purchase['answer']>>) => (purchase: Purchase) => ({
    ...purchase,
    answer: { status: 200, body: '', payment_response: null, ...purchase.answer, ...answer },
  })

  it('accepts purchases of each operation and transport, with the key set of the service or a saved one', async () => {
    expect((await buy('lookup', '/api/v1/company/73848')).receipt).to.equal('valid')
    expect((await buy('search', '/api/v1/search?limit=3&q=plain+fixture')).receipt).to.equal('valid')
    const body = JSON.stringify({ name: 'Plain Fixture Limited' })
    expect((await buy('resolve', '/api/v1/resolve', body)).receipt).to.equal('valid')
    const parsed = parseNamed('lookup', { company_number: '73848' })
    if (parsed.kind !== 'valid') expect.fail('not valid')
    const request = await a2aRequest({ baseUrl: service.url }, parsed.operation, fetch)
    expect((await buyAny('a2a', request)).receipt).to.equal('valid')
    for (const name of ['lookup', 'search', 'resolve', 'a2a']) {
      const online = await verify(pathOf(name))
      expect(online.code, online.text + online.stderr).to.equal(0)
      expect(online.lines.map((line) => line.split(/ +/).slice(0, 2).join(' '))).to.deep.equal([
        'signature ok',
        'answer ok',
        'operation ok',
        'snapshot ok',
        'issuer ok',
        'request ok',
        'payment ok',
        'response ok',
        'The receipt',
      ])
      const offline = await verifyOffline(pathOf(name))
      expect([offline.code, offline.text]).to.deep.equal([0, online.text])
    }
  })

  for (const options of [{}, { versionNegotiation: { mode: { pin: '2026-07-28' } } }]) {
    it(`accepts the result of an MCP tool and its body, ${JSON.stringify(options)}`, async () => {
      const { payment } = await readPurchase(fileEntry(pathOf('lookup')))
      const bodies: string[] = []
      const keepBody: typeof fetch = async (...input) => {
        const response = await fetch(...input)
        bodies.push(await response.clone().text())
        return response
      }
      const mcp = new Client({ name: 'test', version: '1' }, options)
      await mcp.connect(new StreamableHTTPClientTransport(new URL('/mcp', service.url), { fetch: keepBody }))
      const result = await mcp.callTool({
        name: 'lookup_company',
        arguments: { company_number: '73848' },
        _meta: { 'x402/payment': JSON.parse(Buffer.from(payment, 'base64').toString()) },
      })
      const body = bodies.findLast((text) => text.includes('payment-receipt')) ?? ''
      await mcp.close()
      for (const text of [JSON.stringify(result), body]) {
        await writeFile(pathOf('mcp'), text)
        const { code, lines, stderr } = await verifyOffline(pathOf('mcp'))
        expect(code, lines.join('\n') + stderr).to.equal(0)
        expect(lines.at(-2)).to.match(/^response +ok/)
      }
      await writeFile(pathOf('mcp'), JSON.stringify(result).replaceAll('73848', '73849'))
      expect(failedIn(await verifyOffline(pathOf('mcp')))).to.deep.equal(['answer'])
    })
  }

  it('reads no key set from a URL that only the receipt names', async () => {
    const forger = await makeReceiptKey()
    const { answer } = await readPurchase(fileEntry(pathOf('lookup')))
    const [body, receipt] = ['body', 'receipt'].map(pathOf) as [string, string]
    await writeFile(body, answer?.body ?? '')
    const sold = JSON.parse(answer?.body ?? '') as { snapshot_id: string }
    await writeFile(receipt, receiptFor(forger, sold, { iss: 'https://forger.example' }))
    const urls: string[] = []
    const serveForgedKeys: typeof fetch = async (url) => {
      urls.push(url as string)
      return Response.json(keySetOf(forger))
    }
    const run = (...args: string[]) =>
      runCommand(['verify', body, '--receipt', receipt, ...args], { fetch: serveForgedKeys })
    const unknown = await run()
    expect([unknown.code, unknown.text]).to.deep.equal([1, ''])
    expect(unknown.stderr).to.equal('The key set of the issuer is not known: add --issuer or --jwks\n')
    expect(urls).to.deep.equal([])
    const other = await run('--issuer', 'https://companies.example')
    expect([other.code, failedIn(other)]).to.deep.equal([1, ['issuer']])
    expect(urls).to.deep.equal(['https://companies.example/.well-known/jwks.json'])
    expect((await run('--issuer', 'forger.example')).code).to.equal(2)
    expect((await run('--issuer', 'https://forger.example')).lines.at(-1)).to.equal(
      'The receipt of https://forger.example is valid for this answer.',
    )
  })

  it('[5.9.6] fetches a key set only from an origin, whatever the file names', async () => {
    const forger = await makeReceiptKey()
    const issuers = ['/admin?x=', '/path', '?x=', '#x', ':80@other.example', '\\x'].map(
      (end) => `http://127.0.0.1${end}`,
    )
    for (const iss of issuers) {
      const path = await change('lookup', (purchase) => {
        const { answer } = purchase
        const response = decodePaymentResponseHeader(answer?.payment_response ?? '')
        const receipt = receiptFor(forger, JSON.parse(answer?.body ?? '') as { snapshot_id: string }, { iss })
        const forged = { ...response, extensions: { 'payment-receipt': { info: { receipt } } } }
        const payment_response = Buffer.from(JSON.stringify(forged)).toString('base64')
        const quote = { resource: { url: `${iss}/api/v1/company/73848` } }
        return { ...purchase, quote, answer: { status: 200, body: answer?.body ?? '', payment_response } }
      })
      const urls: string[] = []
      const fetchNothing: typeof fetch = async (url) => {
        urls.push(url as string)
        return Response.json(keySetOf(forger))
      }
      const { code, stderr } = await runCommand(['verify', path], { fetch: fetchNothing })
      expect([code, stderr]).to.deep.equal([1, 'The key set of the issuer is not known: add --issuer or --jwks\n'], iss)
      expect(urls).to.deep.equal([])
    }
  })

  it('fails for the answer, request, payment or issuer of another purchase', async () => {
    const search = await readPurchase(fileEntry(pathOf('search')))
    const cases: [failed: string[], by: (purchase: Purchase) => Purchase][] = [
      [['answer', 'snapshot'], withAnswer({ body: '{}' })],
      [['request'], (purchase) => ({ ...purchase, request: search.request })],
      [['payment'], (purchase) => ({ ...purchase, payment: search.payment })],
      [
        ['issuer'],
        (purchase) => ({ ...purchase, quote: { resource: { url: 'https://other.example/api/v1/company/73848' } } }),
      ],
    ]
    for (const [failed, by] of cases) {
      const result = await verifyOffline(await change('lookup', by))
      expect([result.code, failedIn(result)], result.text).to.deep.equal([1, failed])
      expect(result.lines.at(-1)).to.equal('THE RECEIPT IS NOT VALID for this answer.')
    }
    expect(failedIn(await verifyOffline(pathOf('lookup'), '--issuer', 'https://companies.example'))).to.deep.equal([
      'issuer',
    ])
    const { stderr, code } = await verify(pathOf('changed'))
    expect([code, stderr]).to.deep.equal([1, 'The key set of the issuer is not known: add --issuer or --jwks\n'])
  })

  it('reads the transfer from the chain with --rpc', async () => {
    const { code, text } = await verifyOffline(pathOf('lookup'), '--rpc', service.rpcUrl)
    expect(code, text).to.equal(0)
    expect(text).to.match(/^transfer +ok +1000 from 0x[0-9a-f]{40} to 0x[0-9a-f]{40} in transaction 0x/m)
    const unreachable = await verifyOffline(pathOf('lookup'), '--rpc', 'http://127.0.0.1:1')
    expect([unreachable.code, failedIn(unreachable)]).to.deep.equal([1, ['transfer']])
  })

  it('computes the snapshot id with --dataset, and compares the companies', async () => {
    for (const name of ['lookup', 'search']) {
      const { code, text, stderr } = await verifyOffline(pathOf(name), '--dataset', REGISTER)
      expect(code, text + stderr).to.equal(0)
      expect(text)
        .to.match(/^dataset +ok /m)
        .and.to.match(/^records +ok +[1-9][0-9]* companies as in the archive$/m)
    }
    const changed = join(directory, 'changed.csv')
    await writeFile(changed, (await readFile(REGISTER, 'utf8')).replace('73848', '73849'))
    const other = await verifyOffline(pathOf('lookup'), '--dataset', changed)
    expect([other.code, failedIn(other)], other.text + other.stderr).to.deep.equal([1, ['dataset']])
  })

  it('compares a company on a day, and a history, with the archive of that day', async () => {
    const earlier = join(directory, 'earlier.csv')
    await writeFile(earlier, (await readFile(REGISTER, 'utf8')).replace('PLAIN FIXTURE LIMITED', 'FORMER NAME LIMITED'))
    await recordArchive(service.directory, earlier, '2026-01-05T08:00:00.000Z')
    await buy('as-of', '/api/v1/company/73848/as-of/2026-01-06')
    await buy('history', '/api/v1/company/73848/history')
    await buy('changes', '/api/v1/changes?since=2026-01-01')
    const failed = async (name: string, archive: string) => {
      const result = await verifyOffline(pathOf(name), '--dataset', archive)
      return { code: result.code, failed: failedIn(result), compared: /([0-9]+) companies as/.exec(result.text)?.[1] }
    }
    const passes = (compared: string) => ({ code: 0, failed: [], compared })
    const fails = (name: string) => ({ code: 1, failed: [name], compared: undefined })
    expect(await failed('as-of', earlier)).to.deep.equal(passes('1'))
    expect(await failed('as-of', REGISTER)).to.deep.equal(fails('dataset'))
    expect(await failed('history', earlier)).to.deep.equal(passes('1'))
    expect(await failed('history', REGISTER)).to.deep.equal(passes('1'))
    expect(await failed('history', join(directory, 'changed.csv'))).to.deep.equal(fails('dataset'))
    expect(await failed('changes', REGISTER)).to.deep.equal(passes('0'))
    expect(await failed('changes', earlier)).to.deep.equal(fails('dataset'))
  })

  describe('compares with the archive', () => {
    const newer = `sha256:${'7'.repeat(64)}`
    let snapshot_id: string
    before(async () => {
      const { text } = await verifyOffline(pathOf('lookup'), '--dataset', REGISTER)
      snapshot_id = /sha256:[0-9a-f]{64}/.exec(/^dataset.*$/m.exec(text)?.[0] ?? '')?.[0] ?? ''
    })
    const checksOf = async (answer: { snapshot_id: string }) => {
      const context = { now: () => new Date(), note: () => undefined }
      const checks = await checkDataset(claimsFor(answer), answer, { dataset: REGISTER, context })
      return checks.map(({ name, passed }) => `${name} ${passed}`)
    }

    it('each version of a history that states the snapshot of the archive', async () => {
      const recordsOf = (company_number: string, state: string, first = snapshot_id) => {
        const date = '2026-01-01'
        const [first_seen, last_seen] = [first, newer].map((id) => ({ snapshot_id: id, date }))
        const versions = [{ state, company: null, first_seen, last_seen, changed: [] }]
        return checksOf({ company_number, versions, snapshot_id: newer } as { snapshot_id: string })
      }
      expect(await recordsOf('999', 'absent')).to.deep.equal(['dataset true', 'records true'])
      expect(await recordsOf('73848', 'absent')).to.deep.equal(['dataset true', 'records false'])
      expect(await recordsOf('2001', 'quarantined')).to.deep.equal(['dataset true', 'records true'])
      expect(await recordsOf('73848', 'quarantined')).to.deep.equal(['dataset true', 'records false'])
      expect(await recordsOf('73848', 'erased')).to.deep.equal(['dataset false'])
      expect(await recordsOf('73848', 'absent', newer)).to.deep.equal(['dataset false'])
    })

    it('the companies of a batch, and fails for a company in an unknown form', async () => {
      const recordsOf = (company: object) => {
        const results = [
          { status: 404, body: { company: null } },
          { status: 200, body: { company } },
        ]
        return checksOf({ results, snapshot_id } as { snapshot_id: string })
      }
      expect(await recordsOf(SYNTHETIC_COMPANY)).to.deep.equal(['dataset true', 'records true'])
      expect(await recordsOf({ ...SYNTHETIC_COMPANY, legal_name: 'OTHER' })).to.deep.equal([
        'dataset true',
        'records false',
      ])
      expect(await recordsOf({ company_number: '73848' })).to.deep.equal(['dataset true', 'records false'])
    })
  })

  it('fails with one line for files that are missing or of another kind', async () => {
    const lookup = pathOf('lookup')
    const repeated = join(directory, 'repeated.json')
    await writeFile(repeated, (await readFile(lookup, 'utf8')).replace('{', '{"answer":null,'))
    const unpaid = await change('lookup', (purchase) => ({ ...purchase, answer: null }))
    for (const [args, line] of [
      [[jwks], `${jwks} is neither a purchase nor an answer with its receipt: add --receipt`],
      [[lookup, '--receipt', jwks], '--receipt is for an answer; a purchase file contains its receipt'],
      [[jwks, '--receipt', lookup], `${lookup} is a purchase file: verify it without --receipt`],
      [[repeated], `${repeated} repeats a member name`],
      [[unpaid], `${unpaid} has no paid answer with a receipt`],
    ] as const)
      expect(await verify(...args)).to.include({ code: 1, stderr: `${line}\n` })
    expect((await verify(join(directory, 'none.json'))).code).to.equal(1)
    expect((await verify()).code).to.equal(2)
  })
})
