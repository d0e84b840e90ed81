/**
 * The fake node's reply to the view of `agent/chain/contracts/ChainView.sol`: an `eth_call` without an address, whose
 * arguments `(uint256 checkedBlock, (address, address, bytes32, uint256)[] payments)` follow the code. The code is not run.
 */
import { blockAt, type Ledger, type LedgerBlock } from './ledger.ts'

const WORD_DIGITS = 64
const WORDS_PER_PAYMENT = 4
/** Blocks between the newest block and the anchor. */
const ANCHOR_DEPTH = 64
const BALANCE = 1_000_000_000
const ADDRESS_DIGITS = 40

interface ViewCall {
  data: string
  chainId: number
  /** The block that is observed. */
  block: LedgerBlock
}

/** Undefined if the call does not end with such arguments. */
export function answerView(ledger: Ledger, { data, chainId, block }: ViewCall): string | undefined {
  const words = findArguments(data)
  if (!words) return undefined
  const { number, timestamp } = block
  const [checkedBlock = '', , , ...payments] = words
  const count = payments.length / WORDS_PER_PAYMENT
  const states = Array.from({ length: count }, (_, index) => {
    const [, payer = '', nonce = '', recordedBlock = ''] = payments.slice(index * WORDS_PER_PAYMENT)
    const { codeBytes = 0, balance = BALANCE } = ledger.noteObserved(`0x${payer.slice(-ADDRESS_DIGITS)}`)
    return [word(codeBytes), word(balance), word(ledger.isUsed(`0x${nonce}`) ? 1 : 0), hashOf(recordedBlock, number)]
  })
  const head = [word(chainId), word(number), word(timestamp), blockAt(number - ANCHOR_DEPTH).hash.slice(2)]
  const list = [word((head.length + 2) * 32), word(count), ...states.flat()]
  return `0x${[...head, hashOf(checkedBlock, number), ...list].join('')}`
}

/** The last words of the data: the checked block, the offset of the list, its length, and its elements. */
function findArguments(data: string): string[] | undefined {
  for (let count = 0; (3 + count * WORDS_PER_PAYMENT) * WORD_DIGITS < data.length; count += 1) {
    const words = data.slice(-(3 + count * WORDS_PER_PAYMENT) * WORD_DIGITS).match(/.{64}/g) ?? []
    if (words[1] === word(64) && words[2] === word(count)) return words
  }
  return undefined
}

/** Zero for a block that is not below the newest one. */
function hashOf(blockWord: string, newest: number): string {
  const number = Number(`0x${blockWord}`)
  return number > 0 && number < newest ? blockAt(number).hash.slice(2) : word(0)
}

function word(value: number | bigint): string {
  return value.toString(16).padStart(WORD_DIGITS, '0')
}
