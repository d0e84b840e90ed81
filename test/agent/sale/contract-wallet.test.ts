/** Payments from contract wallets (ERC-1271), with and without a signature of 65 bytes (contract 5.3.4). */
import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { WEIGHTS } from '../../../agent/sale/limits/address-budget.ts'
import { prepareChain } from '../../../agent/sandbox/prepare-chain.ts'
import { signedPayment } from '../../support/payments.ts'
import { codeOf, useSale } from '../../support/sale-harness.ts'
import { compiled } from '../../support/sandbox-chain.ts'
import { openSaleOnChain, type SaleOnChain } from '../../support/sale-on-chain.ts'
import { tokenOn } from '../../support/token.ts'

describe('[5.3.4] a payment that the key of the payer did not sign', () => {
  const wallet = '0x00000000000000000000000000000000000A11e7'
  const owner = generatePrivateKey()
  const sale = useSale()

  const fromWallet = () => signedPayment({ key: owner, authorization: { from: wallet } })

  it('is refused before any other remote call if the payer has no code, also with a longer signature', async () => {
    const payment = await fromWallet()
    expect(codeOf(await sale.lookup(payment))).to.equal('payment_rejected')
    sale.now = () => new Date(Date.now() + 61_000)
    const longer = await signedPayment({ key: owner, authorization: { from: wallet } })
    longer.payload.signature = `${longer.payload.signature}00`
    expect(codeOf(await sale.lookup(longer))).to.equal('payment_rejected')
    expect(sale.calls).to.deep.equal(['observe', 'observe'])
  })

  it('[6.2.2] asks the chain only within the budget of the address', async () => {
    sale.budgetOf(2 * WEIGHTS.payment)
    const codes = []
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const from = privateKeyToAddress(generatePrivateKey())
      codes.push(codeOf(await sale.lookup(await signedPayment({ key: owner, authorization: { from } }))))
    }
    expect(codes).to.deep.equal(['payment_rejected', 'payment_rejected', 'rate_limited'])
    expect(sale.count('observe')).to.equal(2)
  })

  describe('on a real chain', function () {
    this.timeout(240_000)
    let place: SaleOnChain

    const balance = () => tokenOn(place.sandbox.chain.url).balanceOf(wallet)

    before(async () => {
      place = await openSaleOnChain()
      const { client, chain } = place.sandbox
      const { abi, runtime } = await compiled('test/support/contracts/OwnerWallet.json')
      await client.setCode({ address: wallet, bytecode: runtime })
      const args = [privateKeyToAddress(owner)]
      const hash = await client.writeContract({ address: wallet, abi, functionName: 'initialize', args })
      await client.waitForTransactionReceipt({ hash })
      await prepareChain({ url: chain.url, buyer: wallet, relayer: place.relayer })
    })
    after(() => place.close())

    it('buys with a 65-byte signature of the owner of the wallet', async () => {
      const before = await balance()
      const payment = await fromWallet()
      expect(payment.payload.signature).to.have.lengthOf(132)
      expect(codeOf(await place.sale.lookup(payment))).to.equal('answer')
      expect(codeOf(await place.sale.lookup(payment))).to.equal('answer')
      expect(await balance()).to.equal(before - 1_000n)
    })

    it('does not buy with the signature of another key', async () => {
      const before = await balance()
      const foreign = await signedPayment({ key: generatePrivateKey(), authorization: { from: wallet } })
      expect(codeOf(await place.sale.lookup(foreign))).to.equal('payment_rejected')
      expect(await balance()).to.equal(before)
    })
  })
})
