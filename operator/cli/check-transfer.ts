/** The check of `verify` that needs the chain. */
import { isSameAddress } from '../../agent/payment/accounts.ts'
import { openChain } from '../../agent/settlement/chain/chain.ts'
import { nonceKey } from '../../agent/settlement/chain/token.ts'
import type { ReceiptClaims } from '../../agent/payment/receipt/claims.ts'
import type { TransferCheck } from '../../buyer/library/verify-command.ts'

/** Above every block, so that only the transaction of the receipt is read. */
const NO_BLOCK = 2n ** 63n

/** Whether the transaction of the receipt used this nonce and transferred this amount. */
export async function checkTransfer({ payment }: ReceiptClaims, url: string): Promise<TransferCheck> {
  const check = (passed: boolean, detail: string) => ({ kind: 'checked' as const, name: 'transfer', passed, detail })
  const chainId = /^eip155:([1-9][0-9]{0,14})$/.exec(payment.network)?.[1]
  if (chainId === undefined) return check(false, 'the network of the receipt is not an EVM chain')
  const { asset, payer, pay_to: to, amount: value } = payment
  const nonce = nonceKey(asset, { from: payer, nonce: payment.nonce })
  const transaction = payment.transaction.toLowerCase()
  const options = { chainId: Number(chainId), now: () => new Date() }
  try {
    const chain = openChain({ urls: [url], ...options })
    const observation = await chain.observe([nonce], { withFinal: true })
    const use = await chain.findUse({ ...nonce, from: { block: NO_BLOCK }, transaction }, observation)
    if (use.nonce !== 'used' || use.transfer.transaction !== transaction)
      return check(false, `the chain does not show this payment in transaction ${transaction}`)
    const { transfer, isFinal } = use
    const passed =
      isSameAddress(transfer.from, payer) && isSameAddress(transfer.to, to) && transfer.value === BigInt(value)
    const found = `${transfer.value} from ${transfer.from} to ${transfer.to} in transaction ${transaction}`
    return check(passed, `${found}${isFinal ? '' : ', in a block that is not final yet'}`)
  } catch {
    return { kind: 'unchecked', detail: 'the node does not answer, or belongs to another chain' }
  }
}
