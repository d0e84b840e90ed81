/** The command `verify` with purchases from the real service: each check, its output and its exit status. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { expect } from 'chai'
import { decodePaymentResponseHeader } from '@x402/core/http'
import { buyIntoFile, RUNTIME } from '../../../buyer/library/buy.ts'
import { fileEntry } from '../../../buyer/library/folder-storage.ts'
import { Progress } from '../../../buyer/library/progress.ts'
import { readPurchase, writePurchase, type Purchase } from '../../../buyer/library/purchase-file.ts'
import { a2aRequest, type PurchaseRequest } from '../../../buyer/library/purchase-request.ts'
import { runCommand } from '../../support/cli.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { keySetOf, makeReceiptKey, receiptFor } from '../../support/signed-receipt.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'
import { parseNamed } from '../../support/operations.ts'

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
  const buyAny = (name: string, request: PurchaseRequest, progress = new Progress()) => {
    // The purchase has a caller when it begins.
    const work = Promise.resolve().then(() =>
      buyIntoFile({
        progress,
        request,
        entry: fileEntry(pathOf(name)),
        key: service.buyerKey,
        approve: () => undefined,
        runtime: RUNTIME,
      }),
    )
    return progress.wait(work)
  }
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
    it(`accepts the result of an MCP tool, ${JSON.stringify(options)}`, async () => {
      const { payment } = await readPurchase(fileEntry(pathOf('lookup')))
      const mcp = new Client({ name: 'test', version: '1' }, options)
      await mcp.connect(new StreamableHTTPClientTransport(new URL('/mcp', service.url)))
      const result = await mcp.callTool({
        name: 'lookup_company',
        arguments: { company_number: '73848' },
        _meta: { 'x402/payment': JSON.parse(Buffer.from(payment, 'base64').toString()) },
      })
      await mcp.close()
      await writeFile(pathOf('mcp'), JSON.stringify(result))
      const { code, lines, stderr } = await verifyOffline(pathOf('mcp'))
      expect(code, lines.join('\n') + stderr).to.equal(0)
      expect(lines.at(-2)).to.match(/^response +ok/)
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

  it('[5.9.6] reads the transfer with --rpc, and exits with 7 if no node has answered', async () => {
    const { code, text } = await verifyOffline(pathOf('lookup'), '--rpc', service.rpcUrl)
    expect(code, text).to.equal(0)
    expect(text).to.match(/^transfer +ok +1000 from 0x[0-9a-f]{40} to 0x[0-9a-f]{40} in transaction 0x/m)
    const unreachable = await verifyOffline(pathOf('lookup'), '--rpc', 'http://127.0.0.1:1')
    expect([unreachable.code, failedIn(unreachable)]).to.deep.equal([7, []])
    expect(unreachable.text).to.match(
      /^transfer +NOT CHECKED: the node does not answer.*\nThe receipt of \S+ is valid/m,
    )
  })

  it('fails with one line for files that are missing or of another kind', async () => {
    const lookup = pathOf('lookup')
    const repeated = join(directory, 'repeated.json')
    await writeFile(repeated, (await readFile(lookup, 'utf8')).replace('{', '{"answer":null,'))
    const unpaid = await change('lookup', (purchase) => ({ ...purchase, answer: null }))
    for (const [args, line] of [
      [[jwks], `${jwks} is neither a purchase nor an answer with its receipt: add --receipt`],
      [[lookup, '--receipt', jwks], '--receipt is for an answer; a purchase file contains its receipt'],
      [[repeated], `${repeated} repeats a member name`],
      [[unpaid], `${unpaid} has no paid answer with a receipt`],
    ] as const)
      expect(await verify(...args)).to.include({ code: 1, stderr: `${line}\n` })
    expect((await verify(join(directory, 'none.json'))).code).to.equal(1)
    expect((await verify()).code).to.equal(2)
  })
})
