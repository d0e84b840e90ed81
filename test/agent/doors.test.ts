/** The doors outside the sandbox: one's own facilitator buys on a real chain, and what is configured wrongly does not start. */
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { privateKeyToAddress, generatePrivateKey } from 'viem/accounts'
import { openDoors } from '../../agent/doors.ts'
import { readConfig } from '../../agent/config.ts'
import { requirementsOf, termsOf } from '../../agent/payments/terms.ts'
import { startChain } from '../../agent/sandbox/chain.ts'
import { prepareChain } from '../../agent/sandbox/deploy.ts'
import { rpc } from '../../agent/sandbox/rpc.ts'
import { testChainUrl } from '../support/chain.ts'
import { ready, startChild } from '../support/child.ts'
import { REGISTER } from '../support/fixtures.ts'
import { signedPayment } from '../support/payments.ts'
import { tokenOn } from '../support/token.ts'

const PAY_TO = '0x00000000000000000000000000000000000000c7'
const terms = termsOf('testnet', PAY_TO)

describe('the doors outside the sandbox', () => {
  let directory: string
  let rpcUrl: string
  let keyFile: string
  const relayer = generatePrivateKey()
  const buyer = generatePrivateKey()
  const reports: string[] = []

  before(async () => {
    rpcUrl = await testChainUrl()
    await prepareChain({ url: rpcUrl, buyer: privateKeyToAddress(buyer), relayer: privateKeyToAddress(relayer) })
  })
  beforeEach(async () => {
    reports.length = 0
    directory = await mkdtemp(join(tmpdir(), 'doors-'))
    keyFile = join(directory, 'relayer.key')
    await writeFile(keyFile, `${relayer}\n`, { mode: 0o600 })
  })
  afterEach(() => rm(directory, { recursive: true }))

  const own = (change: Record<string, string> = {}) => ({
    FACILITATOR: 'self',
    RPC_URL: rpcUrl,
    PAY_TO,
    RELAYER_KEY_FILE: keyFile,
    ...change,
  })
  const open = (environment: Record<string, string>) =>
    openDoors({
      config: readConfig(environment),
      now: () => new Date(),
      report: (event) => void reports.push(event),
      log: () => undefined,
    })
  const refusal = (environment: Record<string, string>) =>
    open(environment).then(
      () => 'opened',
      (error: unknown) => (error instanceof Error ? `${error.name}: ${error.message}` : 'not an Error'),
    )

  it('settles with one’s own relayer, many payments at once', async () => {
    const { doors, lines } = await open(own())
    expect(lines).to.deep.equal([])
    const requirements = requirementsOf(terms, 'lookup')
    const payments = await Promise.all(Array.from({ length: 8 }, () => signedPayment({ key: buyer, terms })))
    const before = await tokenOn(rpcUrl).balanceOf(PAY_TO)
    const replies = await Promise.all(payments.map((each) => doors.facilitator.settle(each as never, requirements)))
    expect(replies.map(({ success }) => success)).to.deep.equal(replies.map(() => true))
    expect((await tokenOn(rpcUrl).balanceOf(PAY_TO)) - before).to.equal(8000n)
    expect(reports).to.deep.equal([])
  })

  it('warn of a relayer that is running out of gas', async () => {
    const poor = generatePrivateKey()
    await rpc(rpcUrl, 'anvil_setBalance', privateKeyToAddress(poor), '0x10')
    await writeFile(keyFile, poor)
    await open(own())
    while (reports.length === 0) await new Promise((resolve) => void setTimeout(resolve, 10))
    expect(reports).to.deep.equal(['relayer_balance_low'])
  })

  it('refuse a key file that others may read, one that is missing, and one that holds no key', async () => {
    await chmod(keyFile, 0o640)
    expect(await refusal(own())).to.equal('ConfigError: RELAYER_KEY_FILE must be readable by its owner only: chmod 600')
    expect(await refusal(own({ RELAYER_KEY_FILE: join(directory, 'none') }))).to.match(/must be a file/)
    for (const text of ['', '0x12', `0x${'0'.repeat(64)}`, `0x${'f'.repeat(64)}`, `${relayer}${relayer}`]) {
      await chmod(keyFile, 0o600)
      await writeFile(keyFile, text)
      expect(await refusal(own())).to.equal(
        'ConfigError: RELAYER_KEY_FILE must hold one private key: 0x and 64 hex digits',
      )
    }
  })

  it('refuse a node of another chain, and wait for one that is away', async () => {
    expect(await refusal(own({ MODE: 'mainnet' }))).to.equal(
      'ConfigError: RPC_URL must be a node of chain 8453 when MODE is mainnet',
    )
    const remote = { FACILITATOR: 'http://127.0.0.1:1', PAY_TO }
    expect(await refusal({ ...remote, RPC_URL: rpcUrl })).to.equal('opened')
    expect(await refusal({ ...remote, RPC_URL: 'http://127.0.0.1:1' })).to.equal('opened')
    expect(reports).to.deep.equal(['chain_unavailable'])
  })

  describe('on mainnet', () => {
    let folder: string
    let chain: Awaited<ReturnType<typeof startChain>>
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'mainnet-'))
      chain = await startChain({ directory: folder, chainId: 8453 })
    })
    after(async () => {
      await chain.stop()
      await rm(folder, { recursive: true })
    })

    for (const FACILITATOR of ['self', 'http://127.0.0.1:1']) {
      it(`quote mainnet’s terms, with ${FACILITATOR === 'self' ? 'one’s own facilitator' : 'a facilitator that is down'}`, async () => {
        const child = startChild('agent/main.js', ['serve'], {
          ...own({ MODE: 'mainnet', FACILITATOR, RPC_URL: chain.url }),
          DATA_DIR: directory,
          DATASET: REGISTER,
          PORT: '0',
          LOG_LEVEL: 'silent',
        })
        try {
          const url = await ready(child)
          expect([...child.said.keys()]).to.deep.equal(['ready'])
          const quote = (await (await fetch(`${url}/api/v1/company/73848`)).json()) as {
            payment_required: { accepts: unknown[] }
          }
          expect(quote.payment_required.accepts).to.deep.equal([requirementsOf(termsOf('mainnet', PAY_TO), 'lookup')])
          expect((await fetch(`${url}/api/v1/company/00000000`)).status).to.equal(402)
        } finally {
          child.process.kill('SIGTERM')
          expect(await child.ended).to.equal(0)
        }
      })
    }
  })
})
