/**
 * The attackers of `bench fairness`, run by `fork`. Sends to the parent process what must be known before the attack,
 * waits for its message, attacks, and sends how many requests there were.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { ATTACKS, CONNECTIONS, type Attack, type AttackName } from '../bench/fairness/attacks.ts'
import { AddressedClient, type Sent } from '../bench/fairness/clients.ts'
import { readArguments } from '../support/arguments.ts'

/** Addresses in each /24 network, if the attack does not say how many. */
const NETWORK_ADDRESSES = 100
/** An attacker that leaves disconnects after this time. */
const LEAVES_AFTER_MS = 30
/** Of all attackers together: about as many as this process can send. */
const ATTACKS_PER_SECOND = 1_000

export interface AttackFacts extends Pick<Attack, 'accounts' | 'isVerified' | 'paidCalls'> {
  /** The address that the other clients have, if the attack is of one address that they share. */
  sharedAddress?: string
}

const [name = '', url = '', addresses = '', seconds = ''] = readArguments('NAME URL ADDRESSES SECONDS')
const count = Number(addresses)
const attack: Attack = await ATTACKS[name as AttackName](url)
const { accounts = {}, isVerified = false, paidCalls = 0, connections = CONNECTIONS } = attack
// A connection of its own for each, because a shared agent would reuse the few that are free.
const clients = Array.from({ length: Math.max(connections, count) }, (_, index) => {
  return new AddressedClient(url, addressOf(index % count))
})
const pauseMs = attack.everyMs ?? (clients.length / ATTACKS_PER_SECOND) * 1000
const shared = attack.sharesAddress === true && count < clients.length ? { sharedAddress: addressOf(0) } : {}
const facts: AttackFacts = { accounts, isVerified, paidCalls, ...shared }
// Nothing is closed at the end, so that the service still has the connections when it is measured.
process.on('message', () => void run())
process.on('SIGTERM', () => process.exit())
process.send?.(facts)

async function run(): Promise<void> {
  const end = performance.now() + Number(seconds) * 1000
  const sent = await Promise.all(clients.map((client, offset) => repeat(client, { offset, end })))
  process.send?.(sent.reduce((sum, each) => sum + each, 0))
}

function addressOf(at: number): string {
  const { networkAddresses = NETWORK_ADDRESSES } = attack
  const network = Math.floor(at / networkAddresses)
  return `127.${10 + Math.floor(network / 256)}.${network % 256}.${(at % networkAddresses) + 1}`
}

async function repeat(client: AddressedClient, { offset, end }: { offset: number; end: number }): Promise<number> {
  const { requests, behaviour } = attack
  await sleep(Math.random() * pauseMs)
  let times = 0
  for (; performance.now() < end; times += 1) {
    const request = requests[(offset + times) % requests.length] as Sent
    if (behaviour === 'reads nothing') client.neglect(request)
    else if (behaviour === 'sends slowly') client.sendSlowly(request)
    else if (behaviour === 'pipelines') client.pipeline(request)
    else await client.send(request, behaviour === 'leaves' ? LEAVES_AFTER_MS : undefined)
    await sleep(pauseMs)
  }
  return times
}
