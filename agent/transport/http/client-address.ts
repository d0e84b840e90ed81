/**
 * The network address of a client, for limits per address: an IPv4 address, or the /64 prefix of an IPv6 address, which
 * is what one customer of a provider has. `X-Forwarded-For` counts only as far as proxies are trusted.
 */
import type { IncomingMessage } from 'node:http'
import { isIPv4, isIPv6 } from 'node:net'
import { headerValues } from './request.ts'

/** The limit of all clients whose address is not known, for example after the socket was closed. */
const UNKNOWN = 'unknown'

/**
 * Each trusted proxy appends the address that it received the request from, so entries count from the right. A client
 * can write any entries to the left of them.
 */
export function clientAddress(request: IncomingMessage, trustedProxies: number): string {
  const direct = normalizeAddress(request.socket.remoteAddress ?? '') ?? UNKNOWN
  if (trustedProxies === 0) return direct
  const forwarded = headerValues(request, 'X-Forwarded-For').flatMap((value) => value.split(','))
  let client = direct
  for (const entry of forwarded.toReversed().slice(0, trustedProxies)) {
    const address = normalizeAddress(entry)
    // If a proxy writes no address, its own address counts for all its clients.
    if (address === undefined) break
    client = address
  }
  return client
}

/** Accepts a port and brackets, which some proxies write. Undefined if the text is not an address. */
export function normalizeAddress(text: string): string | undefined {
  const [, bracketed, withPort] = /^\[([^\]]*)\](?::[0-9]+)?$|^([0-9.]+):[0-9]+$/.exec(text.trim()) ?? []
  const address = bracketed ?? withPort ?? text.trim()
  if (isIPv4(address)) return address
  return isIPv6(address) ? normalizeIpv6(address) : undefined
}

/** The first four of eight groups. An IPv4 address in IPv6 form (`::ffff:a.b.c.d`) is the same client as over IPv4. */
function normalizeIpv6(address: string): string {
  const groups = parseGroups(address.replace(/%.*$/, ''))
  const [high = 0, low = 0] = groups.slice(6)
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff
  if (isMapped) return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.')
  const prefix = groups.slice(0, 4).map((group) => group.toString(16))
  return `${prefix.join(':')}::/64`
}

/** The eight groups of a valid IPv6 address. */
function parseGroups(address: string): number[] {
  const withoutIpv4 = address.replace(/[0-9]+\.[0-9.]+$/, (ipv4) => {
    const [a = 0, b = 0, c = 0, d = 0] = ipv4.split('.').map(Number)
    return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`
  })
  const [start = [], end = []] = withoutIpv4.split('::').map((part) =>
    part
      .split(':')
      .filter(Boolean)
      .map((group) => Number.parseInt(group, 16)),
  )
  return [...start, ...Array<number>(8 - start.length - end.length).fill(0), ...end]
}
