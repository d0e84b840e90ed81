/** x402's own facilitator takes the sandbox's chain for Base Sepolia. */
import { x402Facilitator } from '@x402/core/facilitator'
import type { PaymentPayload } from '@x402/core/types'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import { expect } from 'chai'
import { numberToHex, type Address } from 'viem'
import { requirementsOf, termsOf } from '../../../agent/payments/terms.ts'
import { signAuthorization } from '../../support/eip3009.ts'
import { compiled, discard, openTestChain, TOKEN } from '../../support/sandbox-chain.ts'

describe("a payment through x402's facilitator", () => {
  let sandbox: Awaited<ReturnType<typeof openTestChain>>
  before(async () => {
    sandbox = await openTestChain()
  })
  after(() => discard(sandbox))

  it('verifies, settles, and is known as used afterwards', async () => {
    const { client, accounts } = sandbox
    const signer = toFacilitatorEvmSigner({ ...client, address: client.account.address } as never)
    const facilitator = new x402Facilitator().register('eip155:84532', new ExactEvmScheme(signer))
    const requirements = requirementsOf(termsOf('testnet', accounts.receiver), 'lookup')
    const authorization = {
      from: accounts.buyer.address,
      to: accounts.receiver,
      value: BigInt(requirements.amount),
      validAfter: 0n,
      validBefore: (await client.getBlock()).timestamp + 300n,
      nonce: numberToHex(1, { size: 32 }),
    }
    const payload: PaymentPayload = {
      x402Version: 2,
      accepted: requirements,
      payload: {
        signature: await signAuthorization(accounts.buyer.privateKey, authorization),
        authorization: {
          ...authorization,
          value: String(authorization.value),
          validAfter: String(authorization.validAfter),
          validBefore: String(authorization.validBefore),
        },
      },
    }
    const { abi } = await compiled('agent/sandbox/contracts/TestUSDC.json')
    const balanceOf = (address: Address) =>
      client.readContract({ address: TOKEN, abi, functionName: 'balanceOf', args: [address] })

    expect(await facilitator.verify(payload, requirements)).to.deep.include({
      isValid: true,
      payer: authorization.from,
    })
    const settled = await facilitator.settle(payload, requirements)
    expect(settled).to.include({ success: true, payer: authorization.from, network: 'eip155:84532' })
    expect(settled.transaction).to.match(/^0x[0-9a-f]{64}$/)
    expect(await balanceOf(accounts.receiver)).to.equal(1000n)
    expect(await balanceOf(accounts.buyer.address)).to.equal(999_999_000n)

    // The multicall tells this from other failures of the simulation.
    expect(await facilitator.verify(payload, requirements)).to.include({
      isValid: false,
      invalidReason: 'invalid_exact_evm_nonce_already_used',
    })
  })
})
