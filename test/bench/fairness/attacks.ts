/** What the attackers of `bench fairness` send. None of them pays. */
import { randomBytes } from 'node:crypto'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { DOMAIN } from '../../support/eip3009.ts'
import { header, signedPayment } from '../../support/payments.ts'
import type { Hex } from 'viem'
import type { LedgerAccount } from '../remotes/ledger.ts'
import { LOOKUP, lookupOverA2a, type Sent } from './clients.ts'

/** Signed before the attack, because signing takes longer than sending. */
const SIGNED = 120
const MCP_HEADERS = { Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': '2025-11-25' }

export interface Attack {
  /** Accounts that the chain must have. */
  accounts?: Record<string, LedgerAccount>
  /** For all addresses together. */
  connections: number
  /** The requests, which the attackers repeat in this order. */
  requests: Sent[]
  /** Calls to the node for what is paid: a sale, and the observations until its block is final. */
  paidCalls?: number
  /** Whether `verify` accepts the payments. */
  isVerified?: boolean
}

const pay = (payment: unknown, path = LOOKUP): Sent => ({ path, headers: { 'PAYMENT-SIGNATURE': header(payment) } })
const many = <T>(make: () => Promise<T>) => Promise.all(Array.from({ length: SIGNED }, make))
const seconds = (offset: number) => String(Math.floor(Date.now() / 1000) + offset)
const mcp = (message: object): Sent => ({ path: '/mcp', headers: MCP_HEADERS, body: JSON.stringify(message) })
const newKeys = () => Array.from({ length: SIGNED }, generatePrivateKey)
const accountsOf = (keys: Hex[], account: LedgerAccount) =>
  Object.fromEntries(keys.map((key) => [privateKeyToAddress(key), account]))

/** A payment whose signature is not that of its payer. */
async function junk(from: string, bytes: number) {
  const payment = await signedPayment({ authorization: { from } })
  payment.payload.signature = `0x${randomBytes(bytes).toString('hex')}`
  return payment
}

const SINGLE_ATTACKS = {
  'one junk payment on 2,200 connections': async (): Promise<Attack> => {
    const token = DOMAIN.verifyingContract
    const accounts = { [token]: { codeBytes: 1_000, isRefused: true } }
    return { accounts, connections: 2_200, requests: [pay(await junk(token, 130))] }
  },
  'random payers and signatures': async (): Promise<Attack> => {
    const payments = await many(() => junk(`0x${randomBytes(20).toString('hex')}`, 65))
    return { connections: 100, requests: payments.map((payment) => pay(payment)) }
  },
  'signatures of empty wallets': async (): Promise<Attack> => {
    const keys = newKeys()
    const payments = await Promise.all(keys.map((key) => signedPayment({ key })))
    return {
      accounts: accountsOf(keys, { balance: 0 }),
      connections: 100,
      requests: payments.map((payment) => pay(payment)),
    }
  },
  'wallets emptied after verify': async (): Promise<Attack> => {
    const keys = newKeys()
    const payments = await Promise.all(keys.map((key) => signedPayment({ key })))
    return {
      accounts: accountsOf(keys, { isEmptiedAfterVerify: true }),
      isVerified: true,
      connections: 100,
      requests: payments.map((payment) => pay(payment)),
    }
  },
  'late payments': async (): Promise<Attack> => {
    const payments = await many(() =>
      signedPayment({ key: generatePrivateKey(), authorization: { validBefore: seconds(5) } }),
    )
    return { connections: 100, requests: payments.map((payment) => pay(payment)) }
  },
  'purchases of absent numbers': async (): Promise<Attack> => {
    const payments = await many(() => signedPayment({ key: generatePrivateKey() }))
    const requests = payments.map((payment) => pay(payment, '/api/v1/company/99999999999'))
    return { connections: 100, requests }
  },
  'quotes and junk over MCP': async (): Promise<Attack> => {
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call' }
    const params = { name: 'lookup_company', arguments: { company_number: '00000000' } }
    const payments = await many(() => junk(`0x${randomBytes(20).toString('hex')}`, 65))
    const paid = payments.map((payment) => mcp({ ...call, params: { ...params, _meta: { 'x402/payment': payment } } }))
    return { connections: 100, requests: [mcp({ ...call, params }), ...paid] }
  },
  'quotes and junk over A2A': async (url: string): Promise<Attack> => {
    const payments = await many(() => junk(`0x${randomBytes(20).toString('hex')}`, 65))
    const paid = payments.map((payment) => lookupOverA2a(url, { 'PAYMENT-SIGNATURE': header(payment) }))
    return { connections: 100, requests: [lookupOverA2a(url), ...paid] }
  },
  'guesses of a recorded payment': async (): Promise<Attack> => {
    const payment = await signedPayment({ key: generatePrivateKey() })
    const guesses = Array.from({ length: SIGNED }, () => {
      const guess = structuredClone(payment)
      guess.payload.signature = `0x${randomBytes(65).toString('hex')}`
      return pay(guess)
    })
    return { connections: 100, requests: [pay(payment), ...guesses], paidCalls: 3 }
  },
  'protocol calls': async (): Promise<Attack> => {
    const params = Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`m${index}`, 1]))
    const ping = mcp({ jsonrpc: '2.0', id: 1, method: 'ping', params })
    return { connections: 100, requests: [ping, mcp({ jsonrpc: '2.0', id: 2, method: 'tools/list' })] }
  },
  'one wallet with the price of one purchase': async (): Promise<Attack> => {
    const key = generatePrivateKey()
    const payer = privateKeyToAddress(key)
    const payments = await Promise.all(Array.from({ length: SIGNED }, () => signedPayment({ key })))
    return {
      accounts: { [payer]: { balance: 1_000 } },
      connections: 100,
      requests: payments.map((payment) => pay(payment)),
      paidCalls: 3,
    }
  },
}

/** Every attack at the same time. */
async function mixture(url: string): Promise<Attack> {
  const attacks = await Promise.all(Object.values(SINGLE_ATTACKS).map((make) => make(url)))
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
