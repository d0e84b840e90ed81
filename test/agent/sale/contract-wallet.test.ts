/** Payments from contract wallets (ERC-1271), also before they are deployed (ERC-6492; contract 5.3.4). */
import { expect } from 'chai'
import type { Hex } from 'viem'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { WEIGHTS } from '../../../agent/sale/limits/address-budget.ts'
import { DEPLOYMENTS } from '../../../agent/payment/terms.ts'
import { openChain } from '../../../agent/settlement/chain/chain.ts'
import { openFacilitators } from '../../../agent/settlement/facilitator/facilitator.ts'
import { openRemoteFacilitator } from '../../../agent/settlement/facilitator/remote-facilitator.ts'
import { transferCall } from '../../../agent/settlement/chain/token.ts'
import { decodeView, encodeView } from '../../../agent/settlement/chain/view.ts'
import { ready, startChild } from '../../support/child.ts'
import { signedPayment, testTerms } from '../../support/payments.ts'
import { codeOf, summarize, useSale } from '../../support/sale-harness.ts'
import { openSaleOnChain, type SaleOnChain } from '../../support/sale-on-chain.ts'
import { tokenOn } from '../../support/token.ts'
import { FACTORY, openFactory, wrap } from '../../support/wallets.ts'

/** Of a call: the deployment, the transfer, and the view itself. */
const GAS = '0x1e8480'

type NamedFacilitator = Parameters<typeof openFacilitators>[0][number]

describe('[5.3.4] a payment that the key of the payer did not sign', () => {
  const CODELESS = '0x00000000000000000000000000000000000A11e7'
  const owner = generatePrivateKey()
  const sale = useSale()

  const fromWallet = () => signedPayment({ key: owner, authorization: { from: CODELESS } })

  it('is refused before any other remote call if the payer has no code, also with a longer signature', async () => {
    const payment = await fromWallet()
    expect(codeOf(await sale.lookup(payment))).to.equal('payment_rejected')
    sale.now = () => new Date(Date.now() + 61_000)
    const longer = await signedPayment({ key: owner, authorization: { from: CODELESS } })
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

  it('[6.2.2] costs its address a payment if a call with its factory fails', async () => {
    sale.budgetOf(2 * WEIGHTS.payment)
    sale.script.observe = () => Promise.reject(new Error('out of gas'))
    const codes = []
    for (let attempt = 0; attempt < 3; attempt += 1)
      codes.push(codeOf(await sale.lookup(wrap(await fromWallet(), '0x1234'))))
    expect(codes.slice(0, 2)).to.deep.equal(Array(2).fill('payment_verification_unavailable'))
    expect(codes[2]).to.equal('rate_limited')
  })

  describe('on a real chain, with the facilitator of @x402/evm', function () {
    this.timeout(240_000)
    let place: SaleOnChain
    let own: SaleOnChain['sale']['context']['services']['facilitator']
    let reference: NamedFacilitator
    let relayer: string
    let wallets: Awaited<ReturnType<typeof openFactory>>

    before(async () => {
      place = await openSaleOnChain()
      own = place.sale.context.services.facilitator
      const { url } = place.sandbox.chain
      wallets = await openFactory({ url, relayer: place.relayer })
      const relayerKey = generatePrivateKey()
      relayer = privateKeyToAddress(relayerKey)
      await place.rpc('anvil_setBalance', relayer, '0xde0b6b3a7640000')
      const environment = { RPC_URL: url, RELAYER_KEY: relayerKey, FACTORIES: FACTORY }
      const name = await ready(startChild('test/programs/reference-facilitator.js', [], environment))
      reference = { name, client: openRemoteFacilitator({ url: name }) }
    })
    after(() => place.close())
    beforeEach(() => sellThrough(reference))

    /** The facilitators of the service, in their order. */
    function sellThrough(...facilitators: NamedFacilitator[]): void {
      const { services } = place.sale.context
      services.facilitator = openFacilitators(facilitators, services.report)
    }
    const codesOf = async (...payments: unknown[]) => {
      const codes: string[] = []
      for (const payment of payments) codes.push(summarize(await place.sale.lookup(payment)))
      return codes
    }
    const balanceOf = (address: string) => tokenOn(place.sandbox.chain.url).balanceOf(address)
    /** The amount that a wallet pays while `work` runs. */
    async function paidBy(wallet: { address: string }, work: () => Promise<unknown>): Promise<number> {
      const before = await balanceOf(wallet.address)
      await work()
      return Number(before - (await balanceOf(wallet.address)))
    }

    it('[5.4.2] deploys the wallet with its first purchase, and then sells as to any contract wallet', async () => {
      const wallet = await wallets.makeWallet(owner)
      const first = await wallet.sign()
      const wrapped = wrap(first, wallet.deployment)
      const foreign = await signedPayment({ key: generatePrivateKey(), authorization: { from: wallet.address } })
      const paid = await paidBy(wallet, async () => {
        expect(await codesOf(wrapped, wrapped)).to.deep.equal(['answer', 'answer'])
        expect(await wallet.hasCode()).to.equal(true)
        // The inner signature, sent again.
        expect(await codesOf(first, wrapped)).to.deep.equal(['payment_replay_conflict', 'answer'])
        expect(await codesOf(await wallet.sign(), wrap(await wallet.sign(), wallet.deployment))).to.deep.equal([
          'answer',
          'answer',
        ])
        for (const refused of [foreign, wrap(foreign, wallet.deployment)])
          expect(codeOf(await place.sale.lookup(refused))).to.equal('payment_rejected')
      })
      expect(paid).to.equal(3_000)
    })

    it('[5.7.13] is refused if its factory does not deploy the wallet, whatever it does, and is never sent', async () => {
      const wallet = await wallets.makeWallet(owner)
      const sent: string[] = []
      const verify: NamedFacilitator['client']['verify'] = async (...call) => {
        sent.push('verify')
        return reference.client.verify(...call)
      }
      sellThrough({ ...reference, client: { ...reference.client, verify } })
      const other = await wallets.makeWallet(generatePrivateKey())
      const calls = [
        wallet.callOf('burnGas'),
        wallet.callOf('refuse'),
        wallet.callOf('returnMuch', [60_000n]),
        wallet.callOf('returnMuch', [10_000_000n]),
        wallet.callOf('callBack'),
        other.deployment,
      ]
      const paid = await paidBy(wallet, async () => {
        for (const data of calls)
          expect(await codesOf(wrap(await wallet.sign(), data))).to.deep.equal([
            'payment_rejected invalid_exact_evm_payload_signature',
          ])
        const forNobody = wrap(await wallet.sign(), wallet.deployment, '0x00000000000000000000000000000000000000aa')
        expect(codeOf(await place.sale.lookup(forNobody))).to.equal('payment_rejected')
        const poor = await wallets.makeWallet(owner)
        const tooMuch = { value: '1000', from: privateKeyToAddress(generatePrivateKey()) }
        expect(codeOf(await place.sale.lookup(wrap(await poor.sign({ signed: tooMuch }), poor.deployment)))).to.equal(
          'payment_rejected',
        )
      })
      expect([paid, sent]).to.deep.equal([0, []])
    })

    it('[5.7.8] costs a node no more gas than a deployment, and shows the state before it', async () => {
      const wallet = await wallets.makeWallet(owner)
      const payment = { asset: testTerms.asset, payer: wallet.address, nonce: `0x${'11'.repeat(32)}` as const }
      for (const call of ['burnGas', 'returnMuch', 'callBack', 'deploy']) {
        const data =
          call === 'deploy' ? wallet.deployment : wallet.callOf(call, call === 'returnMuch' ? [1n << 20n] : [])
        const transfer = transferCall(wrap(await wallet.sign(), data).payload)
        const result = await place.rpc('eth_call', { data: encodeView([payment], { transfer }), gas: GAS }, 'latest')
        const { trial, payments } = decodeView(result, [payment])
        expect(trial, call).to.equal(call === 'deploy' ? 'made' : 'other')
        expect(payments[0], call).to.include({ codeBytes: 0, isNonceUsed: false })
      }
      expect(await wallet.hasCode()).to.equal(false)
    })

    it('[5.7.17, 14.15] is offered to the next facilitator if one deploys no wallets, and else refused without an alert', async () => {
      const wallet = await wallets.makeWallet(owner)
      const self = { name: 'self', client: own as NamedFacilitator['client'] }
      place.sale.reports.length = 0
      sellThrough(self)
      const payment = wrap(await wallet.sign(), wallet.deployment)
      expect(await codesOf(payment)).to.deep.equal(['payment_rejected eip6492_factory_not_allowed'])
      expect(place.sale.reports).to.deep.equal([])
      sellThrough(self, reference)
      expect(await paidBy(wallet, async () => expect(await codesOf(payment)).to.deep.equal(['answer']))).to.equal(1_000)
    })

    for (const [when, settle] of [
      ['before its settlement', async (deploy, settleNow) => (await deploy(), settleNow())],
      [
        'and its transfer fails',
        async (deploy) => {
          await deploy()
          const { network } = testTerms
          return { success: false, errorReason: 'smart_wallet_deployment_failed', transaction: '', network }
        },
      ],
      [
        'and the reply is lost',
        async (deploy) => {
          await deploy()
          throw new Error('no reply')
        },
      ],
    ] as [string, (deploy: () => Promise<unknown>, settleNow: () => Promise<unknown>) => Promise<unknown>][])
      it(`[5.7.18] is sold once if its wallet is deployed ${when}`, async () => {
        const wallet = await wallets.makeWallet(owner)
        let isFirst = true
        const { client } = place.sandbox
        const deploy = async () => {
          const hash = await client.sendTransaction({ to: FACTORY, data: wallet.deployment })
          await client.waitForTransactionReceipt({ hash })
        }
        const faulty: NamedFacilitator['client'] = {
          verify: (...call) => reference.client.verify(...call),
          settle: async (...call) => {
            if (!isFirst) return reference.client.settle(...call)
            isFirst = false
            return (await settle(deploy, () => reference.client.settle(...call))) as never
          },
        }
        sellThrough({ ...reference, client: faulty })
        const payment = wrap(await wallet.sign(), wallet.deployment)
        const paid = await paidBy(wallet, async () => {
          const codes = await codesOf(payment)
          // A further settlement begins after five seconds, and needs a block that is newer than a refusal.
          place.sale.pass(6_000)
          await place.rpc('evm_increaseTime', '0xc')
          await place.rpc('evm_mine')
          codes.push(...(await codesOf(payment)))
          expect(codes).to.deep.equal([
            when === 'before its settlement' ? 'answer' : 'payment_outcome_unknown',
            'answer',
          ])
        })
        expect(paid).to.equal(1_000)
      })

    // The last ones, because they move the clock of the chain by minutes.
    for (const [name, call, sent] of [
      ['deploys its wallet only in a simulation', 'deployInSimulation', 1],
      ['empties its wallet when it is deployed', 'deployAndEmpty', 2],
    ] as const)
      it(`[5.7.19] is settled once if its factory ${name}, and is 503 until it expires`, async () => {
        const wallet = await wallets.makeWallet(owner)
        const settled: string[] = []
        const settle: NamedFacilitator['client']['settle'] = (...payment) => {
          settled.push('settle')
          return reference.client.settle(...payment)
        }
        sellThrough({ ...reference, client: { ...reference.client, settle } })
        const { services } = place.sale.context
        const { url } = place.sandbox.chain
        const now = () => place.sale.now()
        services.chain = openChain({ urls: [url], now, chainId: DEPLOYMENTS.testnet.chainId })
        const { timestamp } = (await place.rpc('eth_getBlockByNumber', 'latest', false)) as { timestamp: Hex }
        place.sale.now = () => new Date(Number(timestamp) * 1000)
        const validBefore = String(Number(timestamp) + 120)
        const authorization = { validBefore }
        const data = wallet.callOf(call, [...wallet.salted, ...(call === 'deployAndEmpty' ? [testTerms.asset] : [])])
        const payment = wrap(await wallet.sign({ authorization }), data)
        const transactions = () => place.rpc('eth_getTransactionCount', relayer, 'latest').then(Number)
        const before = await transactions()
        const codes = new Set<string>()
        for (let seconds = 0; seconds < 120; seconds += 6) {
          codes.add(codeOf(await place.sale.lookup(payment)))
          place.sale.pass(6_000)
          await place.rpc('evm_increaseTime', '0x6')
          await place.rpc('evm_mine')
        }
        expect([[...codes], settled.length, (await transactions()) - before]).to.deep.equal([
          ['payment_outcome_unknown'],
          1,
          sent,
        ])
        // The end of a payment needs two observations that are a minute apart.
        for (let ends = 0; ends < 2; ends += 1) {
          place.sale.pass(70_000)
          await place.rpc('evm_increaseTime', '0x46')
          await place.rpc('anvil_mine', '0x3')
          codes.add(summarize(await place.sale.lookup(payment)))
        }
        expect([...codes]).to.deep.equal(['payment_outcome_unknown', 'payment_failed authorization_expired'])
      })
  })
})
