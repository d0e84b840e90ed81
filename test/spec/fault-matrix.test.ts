/**
 * Every fault of a remote facilitator, on the first try, on a retry and after a restart, by each door: the whole service
 * with its real client, against a server that misbehaves. Statuses, codes and money are in one table
 * (support/facilitator-faults), which this file only walks.
 */
import { expect } from 'chai'
import { decodePaymentSignatureHeader } from '@x402/core/http'
import { openRemoteFacilitator } from '../../agent/payments/remote-facilitator.ts'
import { doorsOf } from '../support/doors.ts'
import { FAULTS, startFaultyFacilitator } from '../support/facilitator-faults.ts'
import { send, type RawReply } from '../support/raw-http.ts'
import { startTestService, type TestService } from '../support/service.ts'

/** Long enough for every answer on a loaded machine, short enough to wait for twice. */
const TIMEOUT_MS = 2_000
/** The A2A door takes eight calls at a time. */
const AT_A_TIME = 8
/** Of the reconciler's work, before the tests say which payment is missing. */
const LOOKS_MAX = 500
const COMPANY = '/api/v1/company/00000000'
const LOOKUP = { operation: 'lookup', input: { company_number: '00000000' } }
const DOORS = ['REST GET', 'REST POST', 'A2A'] as const
const PHASES = ['the first try', 'a retry', 'a retry after a restart'] as const

type Ask = (payment?: string) => Promise<RawReply>

interface Cell {
  door: (typeof DOORS)[number]
  ask: Ask
  fault: (typeof FAULTS)[number]
  payment: string
  nonce: string
  got: string[]
  bodies: Set<string>
}

describe('a remote facilitator', function () {
  this.timeout(60_000)
  let service: TestService
  let facilitator: Awaited<ReturnType<typeof startFaultyFacilitator>>
  const cells = new Map<string, Cell>()

  before(async () => {
    facilitator = await startFaultyFacilitator()
    const remote = openRemoteFacilitator({ url: facilitator.url, timeoutMs: TIMEOUT_MS })
    let isMended = false
    service = await startTestService({
      doors: (own) => ({ ...own, facilitator: remote, chain: facilitator.chain }),
      // The reconciler comes back only once the faults are over, and then often.
      timer(callback, milliseconds) {
        const isReconciler = isMended && milliseconds < 10_000
        const timeout = isReconciler ? setTimeout(callback, milliseconds / 50) : undefined
        return () => clearTimeout(timeout)
      },
    })
    const doors = doorsOf(() => service)
    const get: Ask = (payment) =>
      send({ url: service.url, path: COMPANY, headers: payment === undefined ? {} : { 'PAYMENT-SIGNATURE': payment } })
    const lanes: Record<Cell['door'], Ask> = {
      'REST GET': get,
      'REST POST': (payment) => doors.resolve({ name: 'plain fixture' }, payment),
      A2A: (payment) => doors.a2a(LOOKUP, payment),
    }
    for (const door of DOORS) {
      const ask = lanes[door]
      for (const fault of FAULTS) {
        const payment = await doors.payFor(ask())
        const { nonce } = (decodePaymentSignatureHeader(payment).payload as { authorization: { nonce: string } })
          .authorization
        facilitator.add(nonce, fault, service.payTo)
        cells.set(`${door}: ${fault.name}`, { door, ask, fault, payment, nonce, got: [], bodies: new Set() })
      }
    }
    await askAll()
    await askAll()
    facilitator.mend()
    isMended = true
    await service.restart()
    await askAll()
    // What was given away on a lie is found by the audit, unless a retry was just being answered.
    for (let look = 0; look < LOOKS_MAX && !isSettled(); look += 1)
      await new Promise((resolve) => void setTimeout(resolve, 20))
    await service.stop()
    facilitator.stop()
  })

  const isSettled = () =>
    [...cells.values()].every(({ nonce, fault }) => facilitator.transfers(nonce) === fault.transfers)

  /** Each door by itself, so that the waits for silence are waited at the same time. */
  async function askAll(): Promise<void> {
    await Promise.all(DOORS.flatMap((door) => inParallel([...cells.values()].filter((cell) => cell.door === door))))
  }

  function inParallel(few: Cell[]): Promise<void>[] {
    const waiting = few.values()
    return Array.from({ length: AT_A_TIME }, async () => {
      for (const cell of waiting) {
        const reply = await cell.ask(cell.payment)
        const { code } = (reply.json['error'] ?? {}) as { code?: string }
        cell.got.push([reply.status, code].filter((each) => each !== undefined).join(' '))
        if (reply.status === 200) cell.bodies.add(reply.text)
      }
    })
  }

  for (const door of DOORS) {
    for (const { name, expected, transfers } of FAULTS) {
      it(`over ${door}, with ${name}: ${expected.join(', ')}; paid ${transfers} times`, () => {
        const cell = cells.get(`${door}: ${name}`)
        PHASES.forEach((phase, index) => expect(cell?.got[index], phase).to.equal(expected[index]))
        expect(facilitator.transfers(cell?.nonce ?? '')).to.equal(transfers)
        expect(cell?.bodies.size ?? 0, 'bodies').to.be.at.most(1)
      })
    }
  }

  it('is never followed elsewhere', () => {
    expect(facilitator.foreign).to.deep.equal([])
  })

  it('is reported in words of ours', () => {
    const words = JSON.stringify(service.reports.map(([event]) => event))
    expect(words).to.contain('settlement_unclear').and.contain('settlement_not_on_chain')
  })
})
