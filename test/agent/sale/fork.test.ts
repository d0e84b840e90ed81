/** A sale that began on a fork, which the node has left since: a retry of the buyer, over a real chain. */
import { expect } from 'chai'
import { decodePaymentResponseHeader } from '@x402/core/http'
import { numberToHex } from 'viem'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { DEPLOYMENTS } from '../../../agent/payment/terms.ts'
import { prepareChain } from '../../../agent/sandbox/prepare-chain.ts'
import { openChain } from '../../../agent/settlement/chain/chain.ts'
import { rpc, testChainUrl } from '../../support/chain.ts'
import { signedPayment } from '../../support/payments.ts'
import { replaceMethods } from '../../support/replace-methods.ts'
import { codeOf, useSale } from '../../support/sale-harness.ts'
import { settleDirectly } from '../../support/settle-directly.ts'

const { chainId } = DEPLOYMENTS.testnet
/** Retries of a payment that has ended observe the chain once a minute. */
const ENDED_MS = 61_000

describe('a sale that began on a fork', () => {
  const sale = useSale()
  const key = generatePrivateKey()
  let url: string

  before(async () => {
    url = await testChainUrl()
    const address = privateKeyToAddress(key)
    await prepareChain({ url, buyer: address, relayer: address })
  })

  for (const state of ['unknown', 'rejected', 'expired'] as const)
    for (const where of ['before', 'behind'] as const)
      it(`[5.7.9] has its answer at a retry if it is ${state}, and the fork began ${where} the transfer`, async () => {
        const payment = await signedPayment({ key })
        await rpc(url, 'anvil_mine', numberToHex(3))
        const transaction = await settleDirectly({ rpcUrl: url, payload: payment.payload })
        await rpc(url, 'anvil_mine', numberToHex(3))
        const head = Number(await rpc(url, 'eth_blockNumber'))
        const { services } = sale.context
        const { log } = services
        const from_block = String(where === 'before' ? head - 5 : head - 1)
        const from_block_hash = `0x${'99'.repeat(32)}`
        services.log = replaceMethods(log, { claim: (record) => log.claim({ ...record, from_block, from_block_hash }) })
        sale.script.settle = () => Promise.reject(new Error('no reply'))
        sale.script.nonceState = async () => ({ nonce: 'unclear' })
        expect(codeOf(await sale.lookup(payment))).to.equal('payment_outcome_unknown')
        const [record] = await sale.unsettledRecords()
        if (state !== 'unknown') await log.advance(record!, { state, updated_at: sale.now().toISOString() })
        const settled = sale.count('settle')
        sale.pass(ENDED_MS)
        services.chain = openChain({ urls: [url], chainId, now: () => new Date() })
        const outcome = await sale.lookup(payment)
        expect(codeOf(outcome)).to.equal('answer')
        const { paymentResponse = '' } = outcome as { paymentResponse?: string }
        expect(decodePaymentResponseHeader(paymentResponse).transaction).to.equal(transaction)
        expect(sale.count('settle')).to.equal(settled)
      })
})
