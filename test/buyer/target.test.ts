/** What the commands say about the URL that a service names. */
import { expect } from 'chai'
import { describeOtherUrl } from '../../buyer/target.ts'

describe('the URL that a service names', () => {
  it('[14.5] is repeated only with the characters of hosts', () => {
    for (const origin of ['http://127.0.0.1:4021', 'https://companies.example', 'http://[::1]:4021'])
      expect(describeOtherUrl(origin)).to.match(/^The service names its URL as .*--url \S+\.$/)
    for (const origin of ['unreadable', 'null', 'https://a;reboot', 'https://$(id)', 'https://a&b', 'file://a'])
      expect(describeOtherUrl(origin), origin).to.equal(undefined)
  })
})
