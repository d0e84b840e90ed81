/**
 * Faults of a remote facilitator, on the first request, on a retry and after a restart. The table in
 * support/facilitator-faults states the expected statuses, codes and transfers.
 */
import { expect } from 'chai'
import { decodePaymentSignatureHeader } from '@x402/core/http'
import { generatePrivateKey } from 'viem/accounts'
import { openRemoteFacilitator } from '../../agent/settlement/facilitator/remote-facilitator.ts'
import { buyOverTransports, type Ask } from '../support/transports.ts'
import { FAULTS, startFaultyFacilitator } from '../support/facilitator-faults.ts'
import type { AuthorizationFields } from '../support/payments.ts'
import { readLedger } from '../support/remotes/chain-node.ts'
import { Ledger } from '../support/remotes/ledger.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { pausesOnly } from '../support/timers.ts'

/** Longer than any answer on a loaded machine. Some tests wait for it twice. */
const TIMEOUT_MS = 1_500
const AT_A_TIME = 8
/** The distance of the two observations that deny a settlement. */
const OBSERVATIONS_APART_MS = 60_000
/** The delay after the second settlement of a payment, and more than that after the first one. */
const SETTLEMENTS_APART_MS = 10_000
/** The pause before a refusal is checked. */
const CHECK_MS = 1_000
/** Fewer than the authorizations live for. */
const OBSERVATIONS_MAX = 4
const PHASES = ['the first try', 'a retry', 'a retry after a restart'] as const

async function untilTrue(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => void setTimeout(resolve, 20))
}

interface Cell {
  fault: (typeof FAULTS)[number]
  payment: string
  authorization: AuthorizationFields
  got: string[]
  bodies: Set<string>
}

describe('[5.7.1, 5.7.2, 5.8.2] a remote facilitator', function () {
  this.timeout(240_000)
  let service: TestService
  let facilitator: Awaited<ReturnType<typeof startFaultyFacilitator>>
  let ledger: Ledger
  const { lookup } = buyOverTransports(() => service)
  const ask: Ask = (payment) => lookup('00000000', payment)
  const cells = new Map<string, Cell>()
  /** The clocks of the service and of the chain, compared with the real ones. */
  let ahead = 0

  before(prepare)

  async function prepare(): Promise<void> {
    const now = () => new Date(Date.now() + ahead)
    ledger = new Ledger({ unfinalBlocks: 0, blockMs: 1_000, now: () => now().getTime() })
    facilitator = await startFaultyFacilitator(ledger)
    const remote = openRemoteFacilitator({ url: facilitator.url, timeoutMs: TIMEOUT_MS })
    let isMended = false
    service = await startTestService({
      now,
      clock: () => performance.now() + ahead,
      replaceExternals: (own) => ({ ...own, facilitator: remote, chain: readLedger(ledger, now) }),
      // Pauses within a request end at once. The reconciler runs only after the faults, and then often.
      timer(callback, milliseconds) {
        // A refusal is checked in a block that is newer than it.
        if (milliseconds === CHECK_MS) ahead += CHECK_MS
        if (!isMended || milliseconds > 10_000) return pausesOnly(callback, milliseconds)
        const timeout = setTimeout(callback, milliseconds / 50)
        return () => clearTimeout(timeout)
      },
    })
    for (const fault of FAULTS) {
      const quote = String((await ask()).headers['payment-required'])
      const payment = await service.pay(quote, { key: generatePrivateKey() })
      const { authorization } = decodePaymentSignatureHeader(payment).payload as { authorization: AuthorizationFields }
      facilitator.add(authorization.nonce, fault)
      cells.set(fault.name, { fault, payment, authorization, got: [], bodies: new Set() })
    }
    await askAll()
    ahead += SETTLEMENTS_APART_MS
    await askAll()
    facilitator.repair()
    isMended = true
    ahead += SETTLEMENTS_APART_MS
    await service.restart()
    await askAll()
    // The reconciler finds false successes by two observations, unless a retry is being answered.
    for (let observation = 0; observation < OBSERVATIONS_MAX && !isSettled(); observation += 1) {
      const before = new Map(unsettled().map((cell) => [cell, readsOf(cell)]))
      const isRead = () => unsettled().every((cell) => readsOf(cell) > (before.get(cell) ?? 0))
      await untilTrue(isRead)
      ahead += OBSERVATIONS_APART_MS
    }
    await service.stop()
    facilitator.stop()
  }

  const readsOf = ({ authorization }: Cell) => ledger.observed.get(authorization.from.toLowerCase()) ?? 0
  const transfersOf = ({ authorization: { nonce } }: Cell) =>
    ledger.transferOf(nonce)?.authorization.to === service.payTo ? 1 : 0
  const unsettled = () => [...cells.values()].filter((cell) => transfersOf(cell) !== cell.fault.transfers)
  const isSettled = () => unsettled().length === 0

  /** Sends every payment once, several at a time, so that their time-outs overlap. */
  async function askAll(): Promise<void> {
    const waiting = cells.values()
    await Promise.all(Array.from({ length: AT_A_TIME }, () => askEach(waiting)))
  }

  async function askEach(waiting: Iterable<Cell>): Promise<void> {
    for (const cell of waiting) {
      const reply = await ask(cell.payment)
      const { code } = (reply.json['error'] ?? {}) as { code?: string }
      cell.got.push([reply.status, code].filter((each) => each !== undefined).join(' '))
      if (reply.status === 200) cell.bodies.add(reply.text)
    }
  }

  for (const { name, expected, transfers } of FAULTS) {
    it(`with ${name}: ${expected.join(', ')}; ${transfers} transfers`, () => {
      const cell = cells.get(name)
      PHASES.forEach((phase, index) => expect(cell?.got[index], phase).to.equal(expected[index]))
      expect(cell && transfersOf(cell)).to.equal(transfers)
      expect(cell?.bodies.size ?? 0, 'bodies').to.be.at.most(1)
    })
  }

  it('[5.8.2] is not followed to another URL', () => {
    expect(facilitator.unexpectedRequests).to.deep.equal([])
  })

  it('is reported without its own text', () => {
    const words = JSON.stringify(service.reports.map(([event]) => event))
    expect(words).to.contain('settlement_unclear').and.contain('settlement_not_on_chain')
  })
})
