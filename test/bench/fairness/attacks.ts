/** What the attackers of `bench fairness` send. None of them pays. */
import { operationOf } from '../../support/operations.ts'
import { randomBytes } from 'node:crypto'
import type { Hex } from 'viem'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { DOMAIN } from '../../support/eip3009.ts'
import { header, signedPayment, testTerms, unsignedPayment } from '../../support/payments.ts'
import type { LedgerAccount } from '../../support/remotes/ledger.ts'
import { FAILING_FACTORY } from '../../support/remotes/wire.ts'
import { FACTORY, wrap } from '../../support/wallets.ts'
import { FREE_PATHS } from '../../../agent/operation/endpoints.ts'
import { amountOf, buildRequirements } from '../../../agent/payment/terms.ts'
import { BATCH_PATH, REFUSED_BODIES } from '../load/refused-bodies.ts'
import { AddressedClient, get, LOOKUP, lookupOverA2a, lookupOverMcp, overMcp, post, type Sent } from './clients.ts'

/** Signed before the attack, because signing takes longer than sending. */
const SIGNED = 120
/** Of all addresses together, unless the attack has another number. */
export const CONNECTIONS = 100

export interface Attack {
  /** Accounts that the chain must have. */
  accounts?: Record<string, LedgerAccount>
  connections?: number
  /** Milliseconds between the requests of a connection, instead of a share of `ATTACKS_PER_SECOND`. */
  everyMs?: number
  /** The requests, which the attackers repeat in this order. */
  requests: Sent[]
  /** Calls to the node for what is paid: a sale, and the observations until its block is final. */
  paidCalls?: number
  /** Whether `verify` accepts the payments. `NODE_CALLS_MAX` then does not apply. */
  isVerified?: boolean
  /** Whether the other clients have an address of the attackers, if these have several connections of each. */
  sharesAddress?: boolean
  /** Disconnects some milliseconds after each request, or is not a client of HTTP. By default waits for each answer. */
  behaviour?: 'leaves' | 'reads nothing' | 'sends slowly' | 'pipelines'
  /** Addresses in each /24. */
  networkAddresses?: number
}

/** In a run of six seconds, the connections are open for most of it. */
const SETTLE_MS = 5_000
/** Payments that an attacker settles and replays. */
const REPLAYED = 20
/** The address from which an attacker buys answers. */
const BUYING_ADDRESS = '127.1.0.1'
/** The largest batch by the time that it takes. */
const NAMES = {
  operation: 'batch',
  input: {
    operation: 'resolve',
    inputs: Array.from({ length: 25 }, (_, index) => ({ name: `Numbered Fixtur ${index}` })),
  },
}

const paying = (payment: unknown, path = LOOKUP): Sent => get(path, { 'PAYMENT-SIGNATURE': header(payment) })
/** A payment for a batch of names. */
const payingNames = () =>
  signedPayment({
    key: generatePrivateKey(),
    requirements: buildRequirements(testTerms, amountOf(testTerms, operationOf(NAMES))),
  })
const namesPaidBy = (payment: unknown) =>
  post(BATCH_PATH, JSON.stringify(NAMES.input), { 'PAYMENT-SIGNATURE': header(payment) })

/** On a connection for each, because a purchase waits for the node most of the time. */
async function buy(url: string, purchases: readonly Sent[]): Promise<void> {
  const buyOne = async (purchase: Sent) => {
    const buyer = new AddressedClient(url, BUYING_ADDRESS)
    const { status, body } = await buyer.send(purchase)
    buyer.close()
    if (status !== 200) throw new Error(`A purchase of the attacker got ${status}: ${body}`)
  }
  await Promise.all(purchases.map(buyOne))
}

/** Buys one large answer, which the attackers then replay over MCP. */
async function replays(url: string): Promise<Attack> {
  const payment = await payingNames()
  await buy(url, [namesPaidBy(payment)])
  const replay = lookupOverMcp(payment, NAMES)
  const compressed = { ...replay, headers: { ...replay.headers, 'Accept-Encoding': 'gzip' } }
  return { requests: [replay, compressed], paidCalls: 3 }
}

const many = <T>(make: () => Promise<T>) => Promise.all(Array.from({ length: SIGNED }, make))
const inFiveSeconds = () => String(Math.floor(Date.now() / 1000) + 5)

/** A payment whose signature is not that of its payer. */
function junk(from = `0x${randomBytes(20).toString('hex')}`, bytes = 65) {
  const payment = unsignedPayment({ authorization: { from } })
  payment.payload.signature = `0x${randomBytes(bytes).toString('hex')}`
  return payment
}

/** Payments of wallets that a factory does not deploy. */
const wrappedJunk = async (factory: Hex): Promise<Attack> => ({
  requests: await many(async () => paying(wrap(junk(), '0x', factory))),
})

/** Payments of wallets that all are such an account. */
async function fromWallets(account: LedgerAccount): Promise<Attack> {
  const keys = Array.from({ length: SIGNED }, generatePrivateKey)
  const payments = await Promise.all(keys.map((key) => signedPayment({ key })))
  return {
    accounts: Object.fromEntries(keys.map((key) => [privateKeyToAddress(key), account])),
    requests: payments.map((payment) => paying(payment)),
  }
}

const SINGLE_ATTACKS = {
  'one junk payment on 2,200 connections': async (): Promise<Attack> => {
    const token = DOMAIN.verifyingContract
    const accounts = { [token]: { codeBytes: 1_000, revert: 'FiatTokenV2: invalid signature' } }
    return { accounts, connections: 2_200, requests: [paying(junk(token, 130))] }
  },
  'random payers and signatures': async (): Promise<Attack> => ({
    requests: await many(async () => paying(junk())),
  }),
  'wallets that no factory deploys': () => wrappedJunk(FACTORY),
  'factories that fail the call': () => wrappedJunk(FAILING_FACTORY),
  'signatures of empty wallets': () => fromWallets({ balance: 0 }),
  'wallets emptied after verify': async (): Promise<Attack> => ({
    ...(await fromWallets({ isEmptiedAfterVerify: true })),
    isVerified: true,
  }),
  'late payments': async (): Promise<Attack> => ({
    requests: await many(async () =>
      paying(await signedPayment({ key: generatePrivateKey(), authorization: { validBefore: inFiveSeconds() } })),
    ),
  }),
  'purchases of absent numbers': async (): Promise<Attack> => ({
    requests: await many(async () =>
      paying(await signedPayment({ key: generatePrivateKey() }), '/api/v1/company/99999999999'),
    ),
  }),
  'quotes and junk over MCP': async (): Promise<Attack> => ({
    requests: [lookupOverMcp(), ...(await many(async () => lookupOverMcp(junk())))],
  }),
  'quotes and junk over A2A': async (url: string): Promise<Attack> => ({
    requests: [
      lookupOverA2a(url),
      ...(await many(async () => lookupOverA2a(url, { 'PAYMENT-SIGNATURE': header(junk()) }))),
    ],
  }),
  'guesses of a recorded payment': async (): Promise<Attack> => {
    const payment = await signedPayment({ key: generatePrivateKey() })
    const guesses = await many(async () => {
      const guess = structuredClone(payment)
      guess.payload.signature = `0x${randomBytes(65).toString('hex')}`
      return paying(guess)
    })
    return { requests: [paying(payment), ...guesses], paidCalls: 3 }
  },
  'protocol calls': async (): Promise<Attack> => {
    const params = Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`m${index}`, 1]))
    return { requests: [overMcp({ method: 'ping', params }), overMcp({ method: 'tools/list' })] }
  },
  'refused bodies': async (): Promise<Attack> => ({
    requests: Object.values(REFUSED_BODIES).map(({ body }) => post(BATCH_PATH, body)),
  }),
  'answers that are not read': async (url: string): Promise<Attack> => ({
    ...(await replays(url)),
    connections: 2_200,
    behaviour: 'reads nothing',
  }),
  'replays of a large answer': replays,
  'payments of clients that leave': async (): Promise<Attack> => ({
    requests: await many(async () => paying(junk(undefined, 130))),
    connections: 1_000,
    behaviour: 'leaves',
  }),
  'quotes on 2,200 connections': async (): Promise<Attack> => ({ requests: [get(LOOKUP)], connections: 2_200 }),
  'one payment on 2,200 connections while it settles': async (): Promise<Attack> => {
    const key = generatePrivateKey()
    const accounts = { [privateKeyToAddress(key)]: { settleMs: SETTLE_MS } }
    return { accounts, connections: 2_200, requests: [paying(await signedPayment({ key }))], paidCalls: 3 }
  },
  'idle connections of the address of others': async (): Promise<Attack> => ({
    requests: [get(FREE_PATHS.robotsTxt)],
    connections: 200,
    everyMs: 2_000,
    sharesAddress: true,
  }),
  'idle connections of many networks': async (): Promise<Attack> => ({
    requests: [get(FREE_PATHS.robotsTxt)],
    connections: 2_300,
    everyMs: 2_000,
    networkAddresses: 1,
  }),
  'pipelined quotes of many networks': async (): Promise<Attack> => ({
    requests: [get(LOOKUP)],
    connections: 2_300,
    networkAddresses: 1,
    behaviour: 'pipelines',
  }),
  'replays of many networks': async (url: string): Promise<Attack> => {
    const requests = await Promise.all(
      Array.from({ length: REPLAYED }, async () => paying(await signedPayment({ key: generatePrivateKey() }))),
    )
    await buy(url, requests)
    return { requests, connections: 2_300, paidCalls: 3 * REPLAYED, networkAddresses: 3 }
  },
  'bodies that do not end': async (): Promise<Attack> => ({
    requests: [post(BATCH_PATH, JSON.stringify(NAMES.input))],
    connections: 2_300,
    networkAddresses: 1,
    behaviour: 'sends slowly',
  }),
  'one payment of many networks while it settles': async (): Promise<Attack> => {
    const key = generatePrivateKey()
    const accounts = { [privateKeyToAddress(key)]: { settleMs: SETTLE_MS } }
    const requests = [paying(await signedPayment({ key }))]
    return { accounts, connections: 2_300, requests, paidCalls: 3, networkAddresses: 4 }
  },
  'batches of wallets emptied after verify': async (): Promise<Attack> => {
    const payments = await many(payingNames)
    const payers = payments.map(({ payload }) => payload.authorization.from)
    return {
      accounts: Object.fromEntries(payers.map((payer) => [payer, { isEmptiedAfterVerify: true }])),
      requests: payments.map(namesPaidBy),
      isVerified: true,
    }
  },
  'one wallet with the price of one purchase': async (): Promise<Attack> => {
    const key = generatePrivateKey()
    const requests = await many(async () => paying(await signedPayment({ key })))
    return { accounts: { [privateKeyToAddress(key)]: { balance: 1_000 } }, requests, paidCalls: 3 }
  },
}

/** Every attack at the same time. */
async function mixture(url: string): Promise<Attack> {
  const attacks: Attack[] = await Promise.all(Object.values(SINGLE_ATTACKS).map((make) => make(url)))
  const longest = Math.max(...attacks.map(({ requests }) => requests.length))
  return {
    accounts: Object.assign({}, ...attacks.map(({ accounts }) => accounts)) as Record<string, LedgerAccount>,
    connections: 300,
    isVerified: true,
    requests: Array.from({ length: longest }, (_, index) =>
      attacks.flatMap(({ requests }) => requests[index % requests.length] ?? []),
    ).flat(),
    paidCalls: attacks.reduce((sum, { paidCalls = 0 }) => sum + paidCalls, 0),
  }
}

export const ATTACKS = { ...SINGLE_ATTACKS, 'all attacks together': mixture }
export type AttackName = keyof typeof ATTACKS
export const ATTACK_NAMES = Object.keys(ATTACKS) as AttackName[]
