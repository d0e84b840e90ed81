/** The call of the view in the ABI of contracts, compared with viem. */
import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { encodeAbiParameters, encodeDeployData, parseAbiParameters, zeroAddress, type Abi, type Hex } from 'viem'
import { nonceKey } from '../../../../agent/settlement/chain/token.ts'
import { decodeView, encodeView } from '../../../../agent/settlement/chain/view.ts'

const FILE = new URL(import.meta.resolve('#root/agent/settlement/chain/contracts/ChainView.json'))
const { abi, creation } = JSON.parse(readFileSync(FILE, 'utf8')) as { abi: Abi; creation: Hex }
const RESULT = parseAbiParameters([
  'uint256 chainId, uint256 number, uint256 time, bytes32 anchor, bytes32 checked, uint256 outcome, bytes reason, State[] states',
  'struct State { uint256 codeBytes; uint256 balance; bool isNonceUsed; bytes32 recordedHash; }',
])

const hash = (digits: string) => `0x${digits.repeat(32)}` as const
const token = '0x036cbd53842c5426634e7929541ec2318f3dcf7e'
const payments = [7n, undefined].map((recordedBlock, index) => {
  const key = nonceKey(token.toUpperCase(), { from: `0x${'Ab'.repeat(19)}0${index}`, nonce: hash(`C${index}`) })
  return Object.assign(key, { recordedBlock })
})
const states = [
  { codeBytes: 23n, balance: 2n ** 255n, isNonceUsed: true, recordedHash: hash('0e') },
  { codeBytes: 0n, balance: 0n, isNonceUsed: false, recordedHash: hash('00') },
] as const
const reason = `0x${Buffer.from('ERC20: transfer amount exceeds balance').toString('hex')}` as const
const encode = (outcome: bigint, count: number) =>
  encodeAbiParameters(RESULT, [8453n, 100n, 5n, hash('aa'), hash('00'), outcome, reason, states.slice(0, count)])

describe('the call of the view', () => {
  it('has the arguments as viem encodes them', () => {
    for (const [count, transfer, deployment] of [
      [0, '0x', undefined],
      [1, '0xe3ee160e', { factory: `0x${'fa'.repeat(20)}`, data: '0x1234' }],
      [2, hash('12'), { factory: `0x${'0b'.repeat(20)}`, data: hash('34') }],
    ] as const) {
      const read = payments.slice(0, count)
      const args = read.map(({ asset, payer, nonce, recordedBlock = 0n }) => ({
        token: asset,
        payer,
        nonce,
        recordedBlock,
      }))
      const { factory, data } = deployment ?? { factory: zeroAddress, data: '0x' }
      expect(encodeView(read, { checkedBlock: 9n, transfer: { data: transfer, deployment } })).to.equal(
        encodeDeployData({ abi, bytecode: creation, args: [9n, args, transfer, factory, data] }),
      )
    }
  })

  it('has the result that viem encodes', () => {
    const trials = ([0n, 1n, 2n] as const).map((outcome) => decodeView(encode(outcome, 2), payments).trial)
    expect(trials).to.deep.equal([undefined, 'made', 'balance'])
    expect(decodeView(encode(1n, 2), payments)).to.deep.equal({
      chainId: 8453n,
      number: 100n,
      time: 5n,
      anchor: { number: 36n, hash: hash('aa') },
      checkedHash: undefined,
      trial: 'made',
      payments: [
        { ...states[0], codeBytes: 23 },
        { ...states[1], codeBytes: 0, recordedHash: undefined },
      ],
    })
  })

  it('refuses every other result', () => {
    const result = encode(1n, 2)
    const shorter = Array.from({ length: 20 }, (_, words) => result.slice(0, 2 + 64 * words))
    const others = [null, 7, '0x', 'text', result.slice(2), `${result}0`, encode(1n, 1), ...shorter]
    // An offset beyond the end, and one that is not on a word.
    for (const offset of ['f'.repeat(64), '7'.padStart(64, '0')])
      others.push(result.slice(0, 2 + 64 * 7) + offset + result.slice(2 + 64 * 8))
    for (const other of others) expect(() => decodeView(other, payments), String(other)).to.throw('NO_CHAIN_VIEW')
  })
})
