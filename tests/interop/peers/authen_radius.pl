# A login through Authen::Radius: each line of the standard input is what the user typed, each line of the output is the reply: its code and
# its Reply-Message. State is copied to the next request, as every program that uses the library does.
use strict;
use warnings;
use Authen::Radius;

my ($server, $secret, $user) = @ARGV;
$| = 1;
my $radius = Authen::Radius->new(Host => $server, Secret => $secret, TimeOut => 15)
  or die "Cannot open a socket\n";
my $state;
while (defined(my $typed = <STDIN>)) {
  chomp $typed;
  $radius->clear_attributes;
  my @attributes = (
    { Name => 1, Value => $user, Type => 'string' },
    { Name => 2, Value => $typed, Type => 'string' },
  );
  push @attributes, { Name => 24, Value => $state, Type => 'string' } if defined $state;
  $radius->add_attributes(@attributes);
  $radius->send_packet(ACCESS_REQUEST) or die 'Cannot send: ' . $radius->strerror . "\n";
  my $code = $radius->recv_packet;
  die 'No reply: ' . $radius->strerror . "\n" unless defined $code;
  my $message = '';
  undef $state;
  for my $attribute ($radius->get_attributes) {
    $message .= $attribute->{RawValue} if $attribute->{Code} == 18;
    $state = $attribute->{RawValue} if $attribute->{Code} == 24;
  }
  $message =~ s/\n/ /g;
  print "code $code: $message\n";
}
