/** Reads the name in a web or e-mail address: "info@kerriganfoods.ie", "www.kerrigan-foods.ie/contact". */

/** Ends of domains that companies in Ireland use. A name with another end is not read as an address. */
const DOMAIN_ENDS = String.raw`ie|com|net|org|eu|info|biz|co\.uk|uk|io|ai|app|shop|online`
const ADDRESS = new RegExp(
  String.raw`(?<![\p{L}\p{N}])(?:https?:\/\/)?(?:([\w.+-]+)@|www\.)?(?:[a-z0-9-]+\.)*?([a-z0-9-]{2,})\.(?:${DOMAIN_ENDS})(?![\p{L}\p{N}@.-]|\.[\p{L}\p{N}])(?:[/?#:]\S*)?`,
  'iu',
)
/** Domains of mail services. The company is in the part before the @. */
const MAIL_SERVICES: ReadonlySet<string> = new Set('gmail hotmail outlook yahoo icloud eircom live'.split(' '))
/** Characters between the words of an address. */
const BETWEEN_WORDS = /[-._+]+/g

/** The name with the words of its web or e-mail address in place of the address. */
export function replaceWebAddress(name: string): string {
  return name.replace(ADDRESS, (_address, mailbox: string | undefined, domain: string) => {
    const isMailService = mailbox !== undefined && MAIL_SERVICES.has(domain.toLowerCase())
    return ` ${(isMailService ? mailbox : domain).replaceAll(BETWEEN_WORDS, ' ')} `
  })
}
