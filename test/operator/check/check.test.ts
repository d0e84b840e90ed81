/**
 * The command `check`: each check with a good and a bad configuration, with a real chain, facilitator, database and
 * service.
 */
import { chmod, chown, copyFile, mkdir, readdir, writeFile } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import { join } from 'node:path'
import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { runCommand } from '../../support/cli.ts'
import { rpc, testChainUrl } from '../../support/chain.ts'
import { replying, startFaultProxy, type RpcCall } from '../../support/fault-proxy.ts'
import { REGISTER } from '../../support/fixtures.ts'
import { listen } from '../../support/listen.ts'
import { findPostgres, makeEmptyLog } from '../../support/postgres.ts'
import { LmdbResponseLog } from '../../../store/log/lmdb-responses.ts'
import { MOVED } from '../../../store/log/move.ts'
import { withPool } from '../../../store/log/postgres/connection.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'
import { checkDisk } from '../../../agent/service/checks/machine.ts'
import { readConfig } from '../../../agent/service/config.ts'
import { DEPLOYMENTS } from '../../../agent/payment/terms.ts'
import { prepareChain } from '../../../agent/sandbox/prepare-chain.ts'
import { needProgram } from '../../support/programs.ts'

const { asset, network } = DEPLOYMENTS.testnet
const KINDS = { kinds: [{ x402Version: 2, scheme: 'exact', network }], extensions: [], signers: {} }
/** A function that returns true for every call. */
const RETURNS_TRUE = '0x600160005260206000f3'

describe('the command check', function () {
  this.timeout(120_000)
  let service: TestService
  let environment: Record<string, string>
  let facilitator: Awaited<ReturnType<typeof listen>>
  let supported: RequestListener

  before(async () => {
    service = await startTestService({ environment: { PAY_TO: '0x00000000000000000000000000000000000000c7' } })
    facilitator = await listen(createServer((request, response) => supported(request, response)))
  })
  after(async () => {
    facilitator.close()
    await service.stop()
  })
  beforeEach(async () => {
    supported = (_, response) => response.setHeader('Content-Type', 'application/json').end(JSON.stringify(KINDS))
    environment = {
      FACILITATOR: facilitator.url,
      RPC_URL: service.rpcUrl,
      PAY_TO: service.payTo,
      BASE_URL: service.url,
      DATA_DIR: await makeTemporaryDirectory(),
      DATASET: REGISTER,
      A2A_ENABLED: 'true',
    }
  })

  const check = (change: Record<string, string> = {}, args: string[] = []) =>
    runCommand(['check', ...args], { environment: { ...environment, ...change } })
  /** The lines of one check. */
  const linesOf = ({ lines }: { lines: string[] }, name: string) =>
    lines
      .filter((line) => line.slice(8).startsWith(`${name} `))
      .map((line) => `${line.slice(0, 7).trim()} ${line.slice(23)}`)
  const expectOne = async (name: string, pattern: RegExp, change: Record<string, string> = {}) => {
    const result = await check(change)
    const [line = 'no line', ...others] = linesOf(result, name)
    expect(others, result.text).to.deep.equal([])
    expect(line, result.text).to.match(pattern)
    expect(result.code, result.text).to.equal(result.text.includes('FAILED') ? 1 : 0)
  }

  it('[14.22] passes with a complete configuration, and changes nothing', async () => {
    const result = await check()
    expect(result.text).not.to.match(/WARNING|FAILED/)
    expect(result.code).to.equal(0)
    expect(result.lines.length).to.be.greaterThan(12)
    expect(result.stderr).to.equal('')
    expect(await readdir(environment['DATA_DIR'] ?? '')).to.deep.equal([])
  })

  it('fails with a data directory of others that others can read', async function () {
    const folder = join(environment['DATA_DIR'] ?? '', 'responses')
    await mkdir(folder)
    await chmod(folder, 0o755)
    if (process.getuid?.() !== 0) return this.skip()
    await chown(folder, 65_534, 65_534)
    await expectOne('data directory', /^FAILED .*has mode 0755.*run chmod 700/)
  })

  it('fails without the disk space of a sale, and warns below 1 GiB', async () => {
    const config = readConfig(environment)
    for (const [mib, kind] of [
      [63, 'failed'],
      [1_023, 'warning'],
      [1_025, 'passed'],
    ] as const) {
      const [finding] = await checkDisk({ config }, () => mib * 2 ** 20)
      expect(finding?.kind, `${mib} MiB`).to.equal(kind)
    }
  })

  describe('of the nodes', () => {
    it('fails with a node of another chain', async () => {
      const { code, ...result } = await check({ MODE: 'mainnet' })
      expect(linesOf(result, 'node 1')[0]).to.match(/^FAILED belongs to another chain: name a node of chain 8453/)
      expect(code).to.equal(1)
    })

    it('warns of one node of two that does not answer, and never prints its URL', async () => {
      const result = await check({ RPC_URL: `${service.rpcUrl},http://127.0.0.1:1/secret-key` })
      expect(linesOf(result, 'node 1')[0]).to.match(/^ok /)
      expect(linesOf(result, 'node 2')[0]).to.match(/^WARNING does not answer/)
      expect(result.code).to.equal(0)
      expect(linesOf(result, 'token')[0]).to.match(/^ok /)
      expect(result.text).not.to.contain('secret-key')
    })

    it('fails if no node answers, or the only one refuses the key in its URL', async () => {
      using node = await startFaultProxy('')
      node.fail(replying(() => ({ error: { code: -32_600, message: 'no such key' } })))
      for (const url of ['http://127.0.0.1:1', node.url]) {
        const result = await check({ RPC_URL: `${url}/secret-key` })
        for (const name of ['node 1', 'clock', 'token']) expect(linesOf(result, name)[0], name).to.match(/^FAILED /)
        expect(linesOf(result, 'node 1')[0]).to.contain('check its URL and key')
        expect(result.text).not.to.contain('secret-key')
      }
    })

    it('does not take a node that limits its calls for a token without its functions', async () => {
      using node = await startFaultProxy(service.rpcUrl)
      const isLimited = ({ method, params }: RpcCall) =>
        method === 'eth_call' && Object.hasOwn(params[0] as object, 'to')
      node.fail(replying((call) => (isLimited(call) ? { error: { code: -32_005, message: 'limit' } } : undefined)))
      await expectOne('token', /^FAILED the node does not answer calls of the token/, { RPC_URL: node.url })
    })

    it('fails with a clock that differs from the blocks by more than a minute', async () => {
      const now = () => new Date(Date.now() - 120_000)
      const result = await runCommand(['check'], { environment, now })
      expect(linesOf(result, 'clock')[0]).to.match(/^FAILED .*set the clock/)
    })

    for (const [fault, code, pattern] of [
      ['is no token', '0x', /^FAILED .*EIP-712 domain/],
      ['is paused and refuses the receiver', RETURNS_TRUE, /^FAILED .*(domain|paused|refuses PAY_TO)/],
    ] as const) {
      it(`fails with a token that ${fault}`, async () => {
        const before = await rpc(service.rpcUrl, 'eth_getCode', asset, 'latest')
        await rpc(service.rpcUrl, 'anvil_setCode', asset, code)
        try {
          const result = await check()
          const lines = linesOf(result, 'token')
          expect(lines.length).to.equal(code === '0x' ? 1 : 3)
          for (const line of lines) expect(line).to.match(pattern)
          expect(result.code).to.equal(1)
        } finally {
          await rpc(service.rpcUrl, 'anvil_setCode', asset, before)
        }
      })
    }
  })

  describe('of the facilitator', () => {
    const answer =
      (status: number, body: unknown): RequestListener =>
      (_, response) =>
        response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))

    it('sends the credentials', async () => {
      supported = (request, response) =>
        answer(request.headers.authorization === 'Bearer x' ? 200 : 401, KINDS)(request, response)
      await expectOne('facilitator', /^ok .*settles "exact" on eip155:84532/, { FACILITATOR_AUTHORIZATION: 'Bearer x' })
      await expectOne('facilitator', /^FAILED .*refuses the credentials \(401\)/)
    })

    for (const [fault, reply, pattern] of [
      ['another network', answer(200, { kinds: [{ ...KINDS.kinds[0], network: 'eip155:1' }] }), /does not settle/],
      ['version 1 only', answer(200, { kinds: [{ ...KINDS.kinds[0], x402Version: 1 }] }), /does not settle/],
    ] as const) {
      it(`fails with ${fault}`, async () => {
        supported = reply
        await expectOne('facilitator', new RegExp(`^FAILED .*${pattern.source}`))
      })
    }

    it('fails without an answer', () =>
      expectOne('facilitator', /^FAILED .*does not answer/, { FACILITATOR: 'http://127.0.0.1:1' }))

    it('fails with a relayer without gas, and with one that is the receiver', async () => {
      const key = generatePrivateKey()
      const file = join(environment['DATA_DIR'] ?? '', 'relayer.key')
      await writeFile(file, key, { mode: 0o600 })
      const own = { FACILITATOR: 'self', RELAYER_KEY_FILE: file }
      await expectOne('relayer', /^FAILED gas for about 0 payments: send ether to 0x[0-9a-fA-F]{40}/, own)
      const address = privateKeyToAddress(key)
      await expectOne('receiver', /^FAILED PAY_TO is the relayer/, { ...own, PAY_TO: address })
      await prepareChain({ url: await testChainUrl(), buyer: service.buyer.address, relayer: address })
      await expectOne('relayer', /^ok gas for about [0-9]+ payments/, own)
      await expectOne('receiver', /^ok /, own)
    })
  })

  describe('of the response log', () => {
    it('fails with a log of another receiver', async () => {
      const DATA_DIR = service.directory
      await expectOne('response log', /^ok LMDB, 0 payments/, { DATA_DIR })
      await expectOne('response log', /^FAILED The response log belongs to the receiver/, {
        DATA_DIR,
        PAY_TO: `0x${'d4'.repeat(20)}`,
      })
    })

    it('fails without the log that the data directory was used with, and with one that was moved', async () => {
      const marker = 'response-log.json'
      await copyFile(join(service.directory, marker), join(environment['DATA_DIR'] ?? '', marker))
      await expectOne('response log', /^FAILED The response log is empty/)
      const log = new LmdbResponseLog(environment['DATA_DIR'] ?? '')
      await log.document(MOVED).compareAndSet({ to: 'database.internal/companies' }, undefined)
      await log.close()
      await expectOne(
        'response log',
        /^FAILED The response log was moved to database\.internal.companies: use that one/,
      )
    })

    it('warns of PostgreSQL without a standby, and fails with one that does not answer or acknowledges early', async function () {
      needProgram(this, 'PostgreSQL', findPostgres())
      const RESPONSE_LOG = await makeEmptyLog()
      await expectOne('response log', /^WARNING PostgreSQL, .*synchronous_standby_names/, { RESPONSE_LOG })
      await expectOne('response log', /^FAILED RESPONSE_LOG cannot be used: no server/, {
        RESPONSE_LOG: 'postgres://user:secret@127.0.0.1:1/x',
      })
      const database = new URL(RESPONSE_LOG).pathname.slice(1)
      const set = (value: string) =>
        withPool(RESPONSE_LOG, (pool) => pool.query(`alter database ${database} set synchronous_commit = ${value}`))
      await set('off')
      try {
        await expectOne('response log', /^FAILED .*acknowledges commits early/, { RESPONSE_LOG })
      } finally {
        const admin = RESPONSE_LOG.replace(`/${database}?`, '/postgres?')
        await withPool(admin, (pool) => pool.query(`alter database ${database} reset synchronous_commit`))
      }
    })
  })

  it('fails with a dataset that does not exist or cannot be reached', async () => {
    await expectOne('retrieval', /^FAILED .*does not exist/, { DATASET: '/none.csv' })
    await expectOne('retrieval', /^FAILED .*does not answer/, { DATASET: 'http://127.0.0.1:1/a.csv' })
    supported = (_, response) => response.writeHead(404).end()
    await expectOne('retrieval', /^FAILED .*status 404/, { DATASET: `${facilitator.url}/a.csv` })
    await expectOne('retrieval', /^WARNING .*status 404/, {
      DATASET: `${facilitator.url}/a.csv`,
      DATA_DIR: service.directory,
    })
  })

  describe('of the public URL', () => {
    it('warns of a URL that does not reach the service, and without a URL', async () => {
      await expectOne('base URL', /^WARNING .*is not reached as this service/, { BASE_URL: 'http://127.0.0.1:1' })
      const { BASE_URL: _, ...others } = environment
      const result = await runCommand(['check'], { environment: others })
      expect(linesOf(result, 'base URL')[0]).to.match(/^WARNING BASE_URL is not set/)
    })

    it('fails with the service of another receiver', () =>
      expectOne('base URL', /^FAILED .*is a service of eip155:84532 that pays /, { PAY_TO: `0x${'d4'.repeat(20)}` }))

    it('fails with a card that is not signed for this URL, and with a document that is missing', async () => {
      using other = await listen(
        createServer((request, response) => {
          if (request.url === '/llms.txt') response.writeHead(404).end()
          else void fetch(service.url + (request.url ?? '')).then(async (reply) => response.end(await reply.text()))
        }),
      )
      const result = await check({ BASE_URL: other.url })
      expect(linesOf(result, 'agent card')[0]).to.match(/^FAILED has no signature that is valid for BASE_URL/)
      expect(linesOf(result, 'documents')).to.deep.equal([
        'FAILED /llms.txt answers with status 404: let the proxy pass every path',
      ])
    })
  })
})
