// The example of docs/payments.md, word for word but for the path of the import.
import { buyOnce } from '../../agent/buyer/library/buy-once.ts'

interface Seller {
  url: string
  payTo: string
}

/** Buys one company record. A second call with the same folder is not charged and returns the same bytes. */
export async function buyCompany(seller: Seller, number: string, privateKey: `0x${string}`, folder: string) {
  const { status, body } = await buyOnce({
    request: { url: `${seller.url}/api/v1/company/${number}` },
    expected: {
      network: 'eip155:84532',
      asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
      domain: { name: 'USDC', version: '2' },
      payTo: seller.payTo,
      amount: '1000',
    },
    file: `${folder}/company-${number}.json`,
    privateKey,
  })
  if (status !== 200) throw new Error(body)
  return body
}
