/** The address of a client behind no, one or several proxies. */
import type { IncomingMessage } from 'node:http'
import { expect } from 'chai'
import { clientPrefixes, prefixesOf } from '../../../../agent/transport/http/client-address.ts'

const request = (remoteAddress: string | undefined, ...forwarded: string[]) =>
  ({
    socket: { remoteAddress },
    headersDistinct: forwarded.length > 0 ? { 'x-forwarded-for': forwarded } : {},
  }) as unknown as IncomingMessage

const clientAddress = (...given: Parameters<typeof clientPrefixes>) => clientPrefixes(...given).at(-1)

describe('the address of a client', () => {
  it('[6.2.7] is the whole IPv4 address or the /64 prefix of an IPv6 address', () => {
    const EXAMPLES: [address: string, normal: string | undefined][] = [
      ['192.0.2.1', '192.0.2.1'],
      ['::ffff:192.0.2.1', '192.0.2.1'],
      ['::FFFF:c000:0201', '192.0.2.1'],
      ['0:0:0:0:0:ffff:192.0.2.1', '192.0.2.1'],
      ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
      ['2001:0DB8:0001:0002::1', '2001:db8:1:2::/64'],
      ['2001:db8::1', '2001:db8::/64'],
      ['2001:db8:1:2::192.0.2.1', '2001:db8:1:2::/64'],
      ['::1', '::/64'],
      ['::', '::/64'],
      ['1::', '1::/64'],
      ['fe80::1%eth0', 'fe80::/64'],
      [' 192.0.2.1 ', '192.0.2.1'],
      ['192.0.2.1:8080', '192.0.2.1'],
      ['[2001:db8::1]:8080', '2001:db8::/64'],
      ['[2001:db8::1]', '2001:db8::/64'],
      ['192.0.2.256', undefined],
      ['192.0.2.01', undefined],
      ['unknown', undefined],
      ['_hidden', undefined],
      ['example.com', undefined],
      ['1:2:3:4:5:6:7:8:9', undefined],
      ['', undefined],
    ]
    for (const [address, normal] of EXAMPLES)
      expect(prefixesOf(address)?.at(-1)?.replace('/32', ''), address).to.equal(normal)
  })

  it('[6.2.9] has the prefixes that networks are given, the widest first', () => {
    expect(prefixesOf('::ffff:192.0.2.1')).to.deep.equal(['192.0.2.0/24', '192.0.2.1/32'])
    expect(prefixesOf('2001:db8:1:2345::1')).to.deep.equal([
      '2001:db8::/32',
      '2001:db8:1::/48',
      '2001:db8:1:2300::/56',
      '2001:db8:1:2345::/64',
    ])
  })

  it('[6.2.7] counts trusted proxies from the right', () => {
    const forwarded = request('192.0.2.1', '203.0.113.1, 203.0.113.2', '203.0.113.3')
    const addresses = [0, 1, 2, 3, 4].map((proxies) => clientAddress(forwarded, proxies))
    expect(addresses).to.deep.equal([
      '192.0.2.1/32',
      '203.0.113.3/32',
      '203.0.113.2/32',
      '203.0.113.1/32',
      '203.0.113.1/32',
    ])
  })

  it('is that of the nearest proxy if the next entry is not an address', () => {
    expect(clientAddress(request('192.0.2.1', '203.0.113.1, unknown'), 2)).to.equal('192.0.2.1/32')
    expect(clientAddress(request('192.0.2.1', 'unknown, 203.0.113.1'), 2)).to.equal('203.0.113.1/32')
    expect(clientAddress(request('192.0.2.1'), 1)).to.equal('192.0.2.1/32')
  })

  it('is one for all clients without an address', () => {
    expect(clientPrefixes(request(undefined), 0)).to.deep.equal([])
  })
})
