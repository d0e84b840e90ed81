/** What the cells of the matrix share: the chain, a facilitator over HTTP, the service, and a payment. */
import { createServer, type ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'
import { cp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { OPERATIONS } from '../../../agent/operation/operations.ts'
import { buildTerms, DEPLOYMENTS } from '../../../agent/payment/terms.ts'
import type { openAccounts } from '../../../agent/sandbox/accounts.ts'
import { startAnvil } from '../../../agent/sandbox/anvil.ts'
import { prepareChain } from '../../../agent/sandbox/prepare-chain.ts'
import { rpc } from '../../support/chain.ts'
import { startChild } from '../../support/child.ts'
import { sendJson } from '../../support/fault-proxy.ts'
import { REGISTER } from '../../support/fixtures.ts'
import { listen } from '../../support/listen.ts'
import { header, signedPayment, withPaymentId } from '../../support/payments.ts'
import { openReferenceFacilitator } from '../../support/reference-facilitator.ts'
import { FACTORY, wrap, type NewWallet } from '../../support/wallets.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

export const POLL_MS = 1_000
export const ANSWER_MS_MAX = 120_000
export const BLOCK_SECONDS = 2
/** A chain with so many blocks can be shown as it was two minutes ago. */
export const LAG_BLOCKS = 60

export interface Chains {
  accounts: Awaited<ReturnType<typeof openAccounts>>
  url: string
  otherUrl: string
  /** An empty response log that machines can share. */
  openLog: () => Promise<string>
}

export interface CellResult {
  name: string
  /** Until the answer of each buyer, or from the end of an authorization to its refusal. */
  seconds: Partial<Record<'fresh' | 'retry' | 'expired' | 'other machine', number>>
  faults: string[]
}

/** A chain whose blocks of the last minutes exist, so that a node can lag. */
export async function startOldChain({ buyer, relayer }: Chains['accounts']) {
  const ageSeconds = 2 * LAG_BLOCKS * BLOCK_SECONDS
  const timestamp = Math.floor(Date.now() / 1000) - ageSeconds
  const options = ['--chain-id', String(DEPLOYMENTS.testnet.chainId), '--timestamp', String(timestamp)]
  const { anvil: child, url } = await startAnvil(await makeTemporaryDirectory(), options)
  await prepareChain({ url, buyer: buyer.address, relayer: relayer.address })
  const block = (await rpc(url, 'eth_getBlockByNumber', 'latest', false)) as { timestamp: string }
  const missingBlocks = Math.floor((Date.now() / 1000 - Number(block.timestamp)) / BLOCK_SECONDS)
  await rpc(url, 'anvil_mine', `0x${missingBlocks.toString(16)}`, `0x${BLOCK_SECONDS}`)
  await rpc(url, 'evm_setIntervalMining', BLOCK_SECONDS)
  return { child, url }
}

/** The key of a new account that can pay for gas. */
async function makeRelayer(url: string) {
  const key = generatePrivateKey()
  await rpc(url, 'anvil_setBalance', privateKeyToAddress(key), '0xde0b6b3a7640000')
  return key
}

/**
 * One machine, with a relayer of its own.
 * @param keys those of another machine, so that this one need not wait until its own are published
 */
export async function startMachine(url: string, environment: Record<string, string>, keys?: string) {
  const folder = await makeTemporaryDirectory()
  const keyFile = join(folder, 'relayer.key')
  await writeFile(keyFile, await makeRelayer(url), { mode: 0o600 })
  const data = join(folder, 'data')
  if (keys !== undefined) await cp(keys, join(data, 'keys'), { recursive: true })
  const child = startChild('agent/main.js', ['serve'], {
    MODE: 'testnet',
    ...(environment['FACILITATOR'] === 'self' && { RELAYER_KEY_FILE: keyFile }),
    DATA_DIR: data,
    DATASET: REGISTER,
    PORT: '0',
    ...environment,
  })
  return { ...child, keys: join(data, 'keys') }
}

export interface Signed {
  nonce: string
  payer: string
  payTo: string
  amount: string
  validBefore: number
  /** Sends the payment to a machine, and returns the status. */
  send: (service: string) => Promise<number>
}

/** @param wallet pays in place of the key, and is deployed by its first payment */
export async function sign(
  payTo: string,
  key: `0x${string}`,
  { seconds, wallet }: { seconds: number; wallet?: NewWallet | undefined },
): Promise<Signed> {
  const validBefore = Math.floor(Date.now() / 1000) + seconds
  const terms = buildTerms('testnet', payTo, OPERATIONS)
  const options = { terms, authorization: { validBefore: String(validBefore) } }
  const signed = wallet ? wrap(await wallet.sign(options), wallet.deployment) : await signedPayment({ ...options, key })
  const payment = withPaymentId(signed)
  const headers = { 'PAYMENT-SIGNATURE': header(payment) }
  const { nonce, from: payer, value: amount } = payment.payload.authorization
  const send = async (service: string) => {
    const response = await fetch(`${service}/api/v1/company/00000000`, { headers })
    await response.arrayBuffer()
    return response.status
  }
  return { nonce, payer, payTo, amount, validBefore, send }
}

interface SettleExchange {
  nonce: string
  payer: string
  /** Settles the payment, and returns the reply. */
  settle: () => Promise<object>
  response: ServerResponse
}

export type SettleAnswer = (exchange: SettleExchange) => Promise<void> | void

export const settleNow: SettleAnswer = async ({ settle, response }) => sendJson(response, await settle())

/** The facilitator of x402 with a relayer of its own, over HTTP. */
export async function startFacilitator(url: string, answerSettle: SettleAnswer) {
  const client = openReferenceFacilitator({ rpcUrl: url, relayerKey: await makeRelayer(url), factories: [FACTORY] })
  type Call = Parameters<typeof client.settle>
  const server = createServer((request, response) => {
    const answer = async () => {
      const { paymentPayload, paymentRequirements } = (await json(request)) as {
        paymentPayload: Call[0]
        paymentRequirements: Call[1]
      }
      if (request.url !== '/settle') return sendJson(response, await client.verify(paymentPayload, paymentRequirements))
      const { nonce, from } = (paymentPayload.payload as { authorization: { nonce: string; from: string } })
        .authorization
      const settle = () => client.settle(paymentPayload, paymentRequirements)
      await answerSettle({ nonce, payer: from, settle, response })
    }
    answer().catch(() => response.destroy())
  })
  return listen(server)
}
