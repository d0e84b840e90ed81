/**
 * A chain with a block every few seconds behind one URL, as a provider with several nodes: each call reaches a node that is a
 * number of blocks behind. A payment that was sent is in the next block.
 */
import { concat, numberToHex, pad, type Hex } from 'viem'
import { TRANSFER, USED } from '../../agent/chain/chain.ts'
import { encodeView } from '../../agent/chain/view.ts'
import { RpcError, type Rpc } from '../../agent/rpc/json-rpc.ts'
import { pick, type Random } from '../../agent/sandbox/sample-random.ts'
import { testTerms, type AuthorizationFields } from './payments.ts'

/** Enough for 24 hours of blocks that are searched. */
const FIRST_BLOCK = 50_000
/** On Base about 15 minutes. */
const FINAL_BLOCKS = 450
/** The digits of the code of the view, before its arguments. */
const VIEW_DIGITS = encodeView([]).length - 3 * 64
const BALANCE = 10n ** 12n

interface Options {
  chainId: number
  blockMs: number
  /** How many blocks the nodes are behind. A call reaches one of them at random. */
  lags: readonly number[]
  now: () => number
  /** The duration of a call. */
  wait: () => Promise<unknown>
  random: Random
}

interface Sent {
  authorization: AuthorizationFields
  block: number
  transaction: Hex
}

export class LaggingChain {
  readonly #options: Options
  readonly #startedAt: number
  readonly #sent = new Map<string, Sent>()
  calls = 0

  constructor(options: Options) {
    this.#options = options
    // A block has a time in whole seconds.
    this.#startedAt = Math.floor(options.now() / 1000) * 1000
  }

  /** Sends the transfer, and returns the hash of its transaction. */
  send(authorization: AuthorizationFields): Hex {
    const transaction = pad(numberToHex(this.#sent.size + 1), { size: 32 })
    this.#sent.set(authorization.nonce, { authorization, block: this.#head + 1, transaction })
    return transaction
  }

  readonly rpc: Rpc = async (method, params = []) => {
    const { lags, random, wait } = this.#options
    this.calls += 1
    await wait()
    return this.#reply(method, params, this.#head - pick(random, lags))
  }

  get #head(): number {
    const { now, blockMs } = this.#options
    return FIRST_BLOCK + Math.floor((now() - this.#startedAt) / blockMs)
  }

  #reply(method: string, [first, second]: readonly unknown[], newest: number): unknown {
    switch (method) {
      case 'eth_call':
        if (second !== 'latest') throw new Error('The state of another block is read')
        return this.#view((first as { data: string }).data, newest)
      case 'eth_getBlockByNumber':
        return this.#block(first as string, newest)
      case 'eth_getLogs':
        return this.#logs(first as { toBlock: string; topics: [unknown, string, string] }, newest)
      case 'eth_getTransactionReceipt':
        return this.#receipt(first as string, newest)
      default:
        throw new RpcError({ code: -32_601, message: `no method ${method}` })
    }
  }

  /** The result of agent/chain/contracts/ChainView.sol. */
  #view(data: string, newest: number): Hex {
    const words = data.slice(VIEW_DIGITS).match(/.{64}/g) ?? []
    const [checked = '0', , count = '0', ...payments] = words
    const hash = (number: number) => (number < newest ? hashOf(number) : '0x0')
    const states = Array.from({ length: Number(`0x${count}`) }, (_, index) => {
      const [, , nonce = '', recorded = '0'] = payments.slice(4 * index)
      return [0, BALANCE, this.#isUsed(`0x${nonce}`, newest) ? 1 : 0, hash(Number(`0x${recorded}`))]
    })
    const head = [this.#options.chainId, newest, this.#timeOf(newest), hash(newest - 64), hash(Number(`0x${checked}`))]
    return concat([...head, 6 * 32, states.length, ...states.flat()].map(toWord))
  }

  #block(at: string, newest: number): object | null {
    const number = at === 'latest' ? newest : at === 'finalized' ? newest - FINAL_BLOCKS : Number(at)
    if (number > newest) return null
    return { number: numberToHex(number), hash: hashOf(number), timestamp: numberToHex(this.#timeOf(number)) }
  }

  #logs({ toBlock, topics: [, , nonce] }: { toBlock: string; topics: [unknown, string, string] }, newest: number) {
    if (Number(toBlock) > newest) throw new RpcError({ code: -32_000, message: 'block range extends beyond the head' })
    const sent = this.#sent.get(nonce)
    return sent && sent.block <= Number(toBlock) ? logsOf(sent).slice(0, 1) : []
  }

  #receipt(hash: string, newest: number): object | null {
    const sent = [...this.#sent.values()].find(({ transaction }) => transaction === hash)
    if (!sent || sent.block > newest) return null
    const [log] = logsOf(sent)
    return { ...log, status: '0x1', logs: logsOf(sent) }
  }

  #isUsed(nonce: string, newest: number): boolean {
    const sent = this.#sent.get(nonce)
    return sent !== undefined && sent.block <= newest
  }

  #timeOf(block: number): number {
    return Math.floor((this.#startedAt + (block - FIRST_BLOCK) * this.#options.blockMs) / 1000)
  }
}

function logsOf({ authorization: { from, to, value, nonce }, block, transaction }: Sent) {
  const place = { transactionHash: transaction, blockNumber: numberToHex(block), blockHash: hashOf(block) }
  const common = { address: testTerms.asset, ...place }
  return [
    { ...common, logIndex: '0x0', topics: [USED, pad(from as Hex).toLowerCase(), nonce], data: '0x' },
    {
      ...common,
      logIndex: '0x1',
      topics: [TRANSFER, ...[from, to].map((address) => pad(address as Hex).toLowerCase())],
      data: numberToHex(BigInt(value), { size: 32 }),
    },
  ]
}

function hashOf(number: number): Hex {
  return pad(numberToHex(number + 1), { size: 32 })
}

function toWord(value: string | number | bigint): Hex {
  return typeof value === 'string' ? pad(value as Hex) : numberToHex(value, { size: 32 })
}
